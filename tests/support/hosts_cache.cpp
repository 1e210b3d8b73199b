#include "support/hosts_cache.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace sheaf::test {

// Applies `change` atomically with respect to other hosts. In NFS 3, the server's answer contains the
// attributes before the request, so the host detects changes by other hosts. In NFS 4 it does not, so the
// host takes the new state for its own change.
template <class Change>
void HostCache::change_server(Change change) {
  const int64_t before = server_.change();
  change();
  if (!options_.answers_tell_change_before || before == seen_change_) seen_change_ = server_.change();
}

void HostCache::revalidate() {
  if (seen_change_ != server_.change()) forget();
}

void HostCache::forget() {
  flush();
  pages_.clear();
  size_ = server_.size();
  seen_change_ = server_.change();
}

void HostCache::flush() {
  for (auto& [number, page] : pages_) write_back(number, page);
}

HostCache::Page& HostCache::page_of(int64_t number) {
  Page& page = pages_[number];
  if (!page.bytes) page.bytes = std::make_unique<std::byte[]>(static_cast<size_t>(page_bytes_));
  return page;
}

void HostCache::fill(int64_t number, Page& page) {
  const std::span all(page.bytes.get(), static_cast<size_t>(page_bytes_));
  const size_t got = server_.read(all, number * page_bytes_);
  std::ranges::fill(all.subspan(got), std::byte{0});
  page.is_uptodate = true;
}

void HostCache::write_back(int64_t number, Page& page) {
  if (!page.is_dirty()) return;
  const std::span dirty(page.bytes.get() + page.dirty_from,
                        static_cast<size_t>(page.dirty_to - page.dirty_from));
  change_server([&] { server_.write(dirty, number * page_bytes_ + page.dirty_from); });
  page.dirty_from = page.dirty_to = 0;
}

size_t HostCache::read(std::span<std::byte> data, int64_t offset) {
  if (offset >= size_) return 0;
  const auto total = std::min(std::ssize(data), size_ - offset);
  for (int64_t done = 0; done < total;) {
    const int64_t number = (offset + done) / page_bytes_;
    const int64_t from = (offset + done) % page_bytes_;
    const int64_t count = std::min(total - done, page_bytes_ - from);
    Page& page = page_of(number);
    if (!page.is_uptodate) fill(number, page);
    std::memcpy(data.data() + done, page.bytes.get() + from, static_cast<size_t>(count));
    done += count;
  }
  return static_cast<size_t>(total);
}

void HostCache::write(std::span<const std::byte> data, int64_t offset) {
  while (!data.empty()) {
    const int64_t from = offset % page_bytes_;
    const auto part = data.first(static_cast<size_t>(std::min(std::ssize(data), page_bytes_ - from)));
    write_page(offset / page_bytes_, from, part);
    data = data.subspan(part.size());
    offset += std::ssize(part);
  }
}

void HostCache::write_page(int64_t number, int64_t from, std::span<const std::byte> data) {
  const int64_t begin = number * page_bytes_;
  const int64_t known = std::clamp<int64_t>(size_ - begin, 0, page_bytes_);  // as this host sees it
  int64_t to = from + std::ssize(data);
  Page& page = page_of(number);
  const bool covers = known == 0 || (from == 0 && to >= known);
  if (!page.is_uptodate && !covers) fill(number, page);  // possible because files are also open for reading
  page.is_uptodate = true;
  if (page.is_dirty() && (from > page.dirty_to || to < page.dirty_from))
    write_back(number, page);  // one range per page
  std::memcpy(page.bytes.get() + from, data.data(), data.size());
  size_ = std::max(size_, begin + to);
  if (options_.writes_whole_pages && locks_held == 0) {
    from = 0;
    to = std::max(to, known);
  }
  page.dirty_from = page.is_dirty() ? std::min(page.dirty_from, from) : from;
  page.dirty_to = std::max(page.dirty_to, to);
}

void HostCache::resize(int64_t size) {
  flush();
  change_server([&] { server_.resize(size); });
  pages_.erase(pages_.lower_bound((size + page_bytes_ - 1) / page_bytes_), pages_.end());
  if (const auto last = pages_.find(size / page_bytes_); last != pages_.end()) {
    const int64_t within = size % page_bytes_;
    std::fill_n(last->second.bytes.get() + within, page_bytes_ - within, std::byte{0});
  }
  size_ = size;
}

void HostCache::press(std::mt19937_64& random) {
  if (pages_.empty()) return;
  const auto chosen = std::next(pages_.begin(), static_cast<int64_t>(random() % pages_.size()));
  if (chosen->second.is_dirty())
    write_back(chosen->first, chosen->second);
  else
    pages_.erase(chosen);
}

}  // namespace sheaf::test
