#include "sfio/striped_file.hpp"

#include <algorithm>
#include <chrono>
#include <set>

#include "base/assert.hpp"
#include "base/checked.hpp"
#include "comm/agree.hpp"

namespace sheaf::sfio {

std::vector<StripedFile::SubfileToken> StripedFile::token() const {
  std::vector<SubfileToken> token;
  for (const SubfileHandle& subfile : subfiles_)
    token.push_back({stripes_.unit, subfile.listener, subfile.handle});
  return token;
}

std::unique_ptr<StripedFile> StripedFile::adopt(std::shared_ptr<Link> link, const std::string& name,
                                                std::span<const SubfileToken> token) {
  std::unique_ptr<StripedFile> file(new StripedFile(std::move(link), name));
  SHEAF_ASSERT(!token.empty());
  file->stripes_ = {token.front().unit, std::ssize(token)};
  StripeName parsed;
  attempt([&] { parsed = parse_stripe_name(name); });  // only for messages: any name is accepted
  for (size_t i = 0; i < token.size(); ++i) {
    const std::string& path = i < parsed.subfiles.size() ? parsed.subfiles[i].path : name;
    file->subfiles_.push_back({static_cast<int>(token[i].listener), token[i].handle, path});
  }
  return file;
}

void StripedFile::check(std::span<const Block> blocks) const {
  for (const Block& block : blocks) {
    if (block.offset < 0 || block.length < 0)
      throw Error(Code::invalid_argument, "'" + name_ + "': a transfer of " + std::to_string(block.length) +
                                              " bytes at offset " + std::to_string(block.offset));
    must_fit(checked_add(block.offset, block.length), "the end of a transfer");
  }
}

std::unique_ptr<Operation> StripedFile::start(Direction direction, std::span<const Block> blocks) {
  check(blocks);
  const std::lock_guard hold(link_->lock());
  return std::make_unique<Operation>(*link_, direction, stripes_, subfiles_, blocks);
}

int64_t StripedFile::transfer(Direction direction, std::span<const Block> blocks) {
  const std::lock_guard hold(link_->lock());
  const auto operation = start(direction, blocks);
  operation->finish();
  return moved(*operation, blocks);
}

int64_t StripedFile::moved(const Operation& operation, std::span<const Block> blocks) {
  if (operation.missing() > 0 && blocks.size() == 1)
    return std::clamp<int64_t>(status().size - blocks[0].offset, 0, blocks[0].length);
  int64_t sum = 0;
  for (const Block& block : blocks) sum += block.length;
  return sum;
}

void StripedFile::transfer_simply(Direction direction, const Block& block) {
  const std::lock_guard hold(link_->lock());
  for (int64_t done = 0; done < block.length;) {
    const int64_t at = block.offset + done;
    const int64_t length = std::min(block.length - done, stripes_.unit - at % stripes_.unit);
    const Block piece{at, block.memory + done, length};
    start(direction, {&piece, 1})->finish();
    done += length;
  }
  if (block.length <= 0) start(direction, {&block, 1});  // for the argument checks
}

std::vector<Answer> StripedFile::ask_all(RequestKind kind, const std::function<int64_t(int)>& value,
                                         OnError on_error) {
  return ask(*link_,
             questions(0, subfiles_.size(),
                       [&](size_t i) { return about(subfiles_[i], kind, {value(static_cast<int>(i))}); }),
             on_error);
}

StripedStatus StripedFile::status() {
  const std::lock_guard hold(link_->lock());
  StripedStatus status{.unit = stripes_.unit};
  for (const Answer& answer : ask_all(RequestKind::size)) {
    status.subfile_sizes.push_back(answer.values[0]);
    status.block_size = std::max(status.block_size, answer.values[1]);
    status.allocated += answer.values[2];
  }
  std::set<int> listeners;
  for (const SubfileHandle& subfile : subfiles_) listeners.insert(subfile.listener);
  status.listeners = static_cast<int32_t>(listeners.size());
  status.size = logical_size(stripes_, status.subfile_sizes);
  return status;
}

void StripedFile::resize(int64_t size) {
  if (size < 0)
    throw Error(Code::invalid_argument, "'" + name_ + "': a size of " + std::to_string(size) + " bytes");
  const std::lock_guard hold(link_->lock());
  ask_all(RequestKind::resize, [&](int i) { return stripes_.subfile_size(i, size); });
}

void StripedFile::sync() {
  const std::lock_guard hold(link_->lock());
  ask_all(RequestKind::sync);
}

// Polls the listener. It does not hold the link's lock between polls, because the holder of the range may be
// another thread of this task. The listener answers at once, because a delayed answer would make it look
// dead.
RangeLock StripedFile::lock_range(const LockRequest& wanted) {
  const auto& [offset, length, exclusive, on_conflict, timeout] = wanted;
  if (const auto local = link_->local_file(subfiles_[0].listener, subfiles_[0].handle))
    return kept_with(local->lock_range(wanted), local);
  const double begin = link_->now();
  for (;;) {
    {
      const std::lock_guard hold(link_->lock());
      const auto kind = exclusive ? RequestKind::lock : RequestKind::lock_shared;
      if (ask(*link_, {about(subfiles_[0], kind, {offset, length})})[0].values[0] != 0) break;
    }
    if (on_conflict == OnConflict::refusal) return {};
    const double waited = link_->now() - begin;
    if (waited > std::chrono::duration<double>(timeout).count())
      throw not_locked(name_, offset, length, "another task",
                       std::chrono::seconds(static_cast<int64_t>(waited)));
    link_->back_off(waited);
  }
  // Closing the file has already released its locks.
  return held_until([this, is_open = std::weak_ptr(open_), offset = offset, length = length] {
    if (is_open.expired()) return;
    const std::lock_guard hold(link_->lock());
    attempt([&] { ask(*link_, {about(subfiles_[0], RequestKind::unlock, {offset, length})}); });
  });
}

void StripedFile::close() {
  open_.reset();
  const std::lock_guard hold(link_->lock());
  int64_t size = -1;
  std::optional<Error> failed;
  if (stripes_.unit > 0) failed = attempt([&] { size = status().size; });
  const auto answers = ask_all(
      RequestKind::close, [&](int) { return size; }, OnError::kept);
  for (size_t i = 0; i < answers.size() && !failed; ++i)
    failed = error_of(*link_, subfiles_[i].listener, answers[i]);
  subfiles_.clear();
  if (failed) throw *failed;
}

}  // namespace sheaf::sfio
