// Copies shown as the files they are copies of.
#include <algorithm>
#include <cstring>

#include "buddy/buddy.hpp"
#include "buddy/constants.hpp"
#include "comm/agree.hpp"
#include "format/journal.hpp"
#include "metadata/metadata_io.hpp"
#include "stream/file_checks.hpp"

namespace sheaf {

namespace {

// A copy without its dummy tasks. The metadata is made anew and kept; data are read from the copy.
class BuddyView final : public File {
 public:
  BuddyView(std::shared_ptr<File> copy, std::string path) : copy_(std::move(copy)), path_(std::move(path)) {
    MetadataReader reader(*copy_);
    format::Header h = reader.header();
    format::Pointer p = reader.read_pointer();
    const auto all = static_cast<size_t>(h.ntasks);
    std::vector<int64_t> values(all);
    reader.read_globalranks(0, values);
    const auto dummies = static_cast<size_t>(
        std::ranges::find_if(values, [](int64_t rank) { return rank >= 0; }) - values.begin());
    shift_ = layout::data_start(h.ntasks, h.fsblksize);
    h.ntasks = static_cast<int32_t>(all - dummies);
    begin_ = layout::data_start(h.ntasks, h.fsblksize);
    shift_ -= begin_;

    FileChecks* const checks = reader.checks(p);
    auto fixed = format::encode(h);
    if (checks) {
      format::put_extension(*reader.extension(), fixed);
      checks->check_tasks(0, static_cast<int64_t>(all));
    }
    front_.assign(fixed.begin(), fixed.end());
    const auto append_values = [&](std::vector<std::byte>& to) {
      append(to, std::span<const int64_t>(values).subspan(dummies), h.metadata_order);
    };
    append_values(front_);
    reader.read_chunk_sizes(0, values);
    append_values(front_);
    const format::Pointer moved{p.maxblocks, p.varheader - shift_};
    const auto pointer = format::encode(moved, h.metadata_order);
    front_.insert(front_.end(), pointer.begin(), pointer.end());

    end_ = moved.varheader;
    reader.read_block_counts(p, 0, values);
    append_values(back_);
    for (int64_t round = 0; round < p.maxblocks; ++round) {
      reader.read_block_sizes(p, round, 0, values);
      append_values(back_);
    }
    int64_t entries = -1;
    if (h.leads_set()) entries = append_mapping(reader, p, h);
    if (checks) {  // the data are the same, and so are their checksums
      const std::vector<uint32_t> sums = checks->read_sums(0, static_cast<int64_t>(all));
      write_copied_trailer(*this, h, moved, *reader.extension(), std::as_bytes(std::span(sums)), entries);
    }
    made_ = true;
  }

  size_t read_at(std::span<std::byte> data, int64_t offset) override {
    size_t done = 0;
    while (done < data.size()) {
      const int64_t at = offset + static_cast<int64_t>(done);
      const auto rest = data.subspan(done);
      size_t n = 0;
      if (at >= end_) {
        n = copy_from(back_, at - end_, rest);
      } else if (at < std::ssize(front_)) {
        n = copy_from(front_, at, rest);
      } else if (at < begin_) {
        n = std::min(rest.size(), static_cast<size_t>(begin_ - at));
        std::fill_n(rest.begin(), n, std::byte{0});
      } else {
        n = copy_->read_at(rest.first(std::min(rest.size(), static_cast<size_t>(end_ - at))), at + shift_);
      }
      if (n == 0) break;
      done += n;
    }
    return done;
  }
  FileStatus status() override {
    FileStatus status = copy_->status();
    status.size = end_ + std::ssize(back_);
    return status;
  }
  // Only while it is made.
  void write_at(std::span<const std::byte> data, int64_t offset) override {
    if (made_ || offset < end_) read_only();
    const auto at = static_cast<size_t>(offset - end_);
    if (back_.size() < at + data.size()) back_.resize(at + data.size());
    std::ranges::copy(data, back_.begin() + static_cast<ptrdiff_t>(at));
  }
  void resize(int64_t) override { read_only(); }
  void sync() override {}
  int64_t next(Space space, int64_t offset) override {
    return space == Space::data ? offset : std::max(offset, end_ + std::ssize(back_));
  }
  const std::string& path() const override { return path_; }
  void close() override { copy_->close(); }

 private:
  [[noreturn]] void read_only() const {
    throw file_error(Code::wrong_mode, path_, "a view of a buddy copy cannot be changed");
  }

  template <class Number>
  static void append(std::vector<std::byte>& to, std::span<const Number> values, ByteOrder order) {
    const size_t at = to.size();
    to.resize(at + values.size_bytes());
    format::encode(values, order, std::span(to).subspan(at));
  }

  static size_t copy_from(const std::vector<std::byte>& from, int64_t at, std::span<std::byte> to) {
    const size_t n = at >= std::ssize(from) ? 0 : std::min(to.size(), from.size() - static_cast<size_t>(at));
    if (n > 0) std::memcpy(to.data(), from.data() + at, n);
    return n;
  }

  // The entries count local ranks behind the dummies of each file; those begin with the lowest.
  int64_t append_mapping(MetadataReader& reader, const format::Pointer& p, const format::Header& h) {
    std::vector<layout::Placement> entries(static_cast<size_t>(reader.read_mapping_size(p)));
    reader.read_mapping(p, 0, entries);
    std::vector<int32_t> first(static_cast<size_t>(h.nfiles), INT32_MAX);
    for (const auto& entry : entries) {
      int32_t& lowest = first.at(static_cast<size_t>(entry.file));
      lowest = std::min(lowest, entry.local_rank);
    }
    std::vector<int32_t> numbers{static_cast<int32_t>(entries.size())};
    for (const auto& entry : entries) {
      numbers.push_back(entry.file);
      numbers.push_back(entry.local_rank - first[static_cast<size_t>(entry.file)]);
    }
    append(back_, std::span<const int32_t>(numbers), h.metadata_order);
    return std::ssize(entries);
  }

  std::shared_ptr<File> copy_;
  std::string path_;
  std::vector<std::byte> front_, back_;
  int64_t shift_ = 0;            // of the data area in the copy
  int64_t begin_ = 0, end_ = 0;  // of the data area
  bool made_ = false;
};

}  // namespace

std::shared_ptr<File> open_buddy(Store& store, const std::string& base, int level, const std::string& path) {
  return std::make_shared<BuddyView>(
      store.open(buddy_name(base, level) + path.substr(base.size()), Access::read), path);
}

namespace {

// The copy is of a file that had the name before.
bool differ(File& copy, File& file) {
  bool other = false;
  attempt([&] {
    other = is_of_another_open(MetadataReader(copy).extension(), MetadataReader(file).extension());
  });
  return other;
}

}  // namespace

// By the first other file of the set that can be read.
bool BuddyStore::is_earlier(File& copy, const std::string& path) {
  const int32_t nfiles = std::min(MetadataReader(copy).header().nfiles, buddy::others_tried);
  for (int32_t k = 0; k < nfiles; ++k) {
    const std::string name = format::physical_name(base_, k);
    std::shared_ptr<File> other;
    if (name == path || attempt([&] {
          other = inner().open(name, Access::read);
          MetadataReader(*other).extension();
        }))
      continue;
    return differ(copy, *other);
  }
  return false;
}

BuddyStore::Copy BuddyStore::open_copy(const std::string& path) {
  Copy found;
  if (!path.starts_with(base_)) return found;
  for (int level = 0; level < levels_; ++level) {
    std::shared_ptr<File> view;
    if (attempt([&] { view = open_buddy(inner(), base_, level, path); })) continue;
    if (!is_earlier(*view, path)) return {view, found.earlier};
    found.earlier = true;
  }
  return found;
}

std::shared_ptr<File> BuddyStore::open(const std::string& path, Access access) {
  if (path.find(format::journal_name(""), path.rfind('/') + 1) != path.npos)
    return inner().open(path, access);
  std::shared_ptr<File> file;
  const auto failed = attempt([&] {
    file = inner().open(path, access);
    if (access == Access::read) MetadataReader(*file).read_pointer();
  });
  if (!failed) return file;
  const bool unclosed = failed->code() == Code::unclosed;  // there may be a journal
  Copy copy;
  if (access == Access::read) copy = open_copy(path);
  if (copy.view && !(unclosed && differ(*copy.view, *file))) return copy.view;
  if (unclosed) return file;
  if (!copy.earlier) throw *failed;
  throw Error(failed->code(),
              failed->what() + std::string("; its buddy copy is of an earlier set of that name"),
              failed->errno_value());
}

FileStatus BuddyStore::status(const std::string& path) {
  FileStatus status = inner().status(path);
  if (!status.exists)
    if (const auto view = open_copy(path).view) status = view->status();
  return status;
}

}  // namespace sheaf
