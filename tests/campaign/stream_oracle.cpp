#include "campaign/stream_oracle.hpp"

#include "multifile/reader/reader.hpp"
#include "multifile/tools/verify.hpp"

namespace sheaf::test::campaign {

using namespace multifile;

namespace {

[[noreturn]] void violated(const std::string& what) { throw std::runtime_error(what); }

int64_t first_difference(std::span<const std::byte> found, std::span<const std::byte> wanted) {
  const size_t common = std::min(found.size(), wanted.size());
  const auto at =
      std::mismatch(found.begin(), found.begin() + static_cast<ptrdiff_t>(common), wanted.begin());
  return at.first == found.begin() + static_cast<ptrdiff_t>(common) ? -1 : at.first - found.begin();
}

// Returns the streams that a file with all accepted bytes has.
Streams complete_streams(const Promise& promise, const std::optional<Streams>& old,
                         const Accepted& accepted) {
  Streams wanted(static_cast<size_t>(accepted.ntasks()));
  for (int64_t t = 0; t < accepted.ntasks(); ++t) {
    auto& stream = wanted[static_cast<size_t>(t)];
    if (promise.appends && old) stream = (*old)[static_cast<size_t>(t)];
    const auto& own = accepted.of(t);
    stream.insert(stream.end(), own.begin(), own.end());
  }
  return wanted;
}

std::string difference(const Streams& found, const Streams& wanted) {
  if (found.size() != wanted.size())
    return std::to_string(found.size()) + " tasks instead of " + std::to_string(wanted.size());
  for (size_t t = 0; t < found.size(); ++t) {
    const int64_t wrong = first_difference(found[t], wanted[t]);
    if (wrong >= 0) return "task " + std::to_string(t) + ": wrong byte " + std::to_string(wrong);
    if (found[t].size() != wanted[t].size())
      return "task " + std::to_string(t) + ": " + std::to_string(found[t].size()) + " bytes instead of " +
             std::to_string(wanted[t].size());
  }
  return "";
}

void check_closed(Store& store, const std::string& path, const Streams& wanted, const Accepted& accepted) {
  if (accepted.lacks_bytes()) violated("the close succeeded after a failed call that was not repeated");
  bool unclosed = false;
  Streams found;
  if (const auto problem = attempt([&] { found = read_streams(store, path, &unclosed); }))
    violated(std::string("the close succeeded, and the file cannot be read: ") + problem->what());
  if (unclosed) violated("the close succeeded, and readers report the file as unclosed");
  if (const auto wrong = difference(found, wanted); !wrong.empty()) violated("the close succeeded; " + wrong);
  WorkProgress quiet;
  if (!verify(store, path, true, quiet).ok()) violated("the close succeeded, and verify has findings");
}

// Checks an unclosed file. Its streams must be prefixes of the accepted bytes and hold all flushed bytes.
void check_unclosed(const Streams& found, const Streams& wanted, const Promise& promise,
                    const std::optional<Streams>& old, const Accepted& accepted) {
  if (std::ssize(found) != accepted.ntasks())
    violated("an unclosed file with " + std::to_string(found.size()) + " tasks");
  for (int64_t t = 0; t < accepted.ntasks(); ++t) {
    const auto k = static_cast<size_t>(t);
    const std::string task = "unclosed, task " + std::to_string(t) + ": ";
    const int64_t before = promise.appends && old ? std::ssize((*old)[k]) : 0;
    const int64_t sure = before + (promise.flushes ? accepted.committed(t) : 0);
    if (std::ssize(found[k]) < sure)
      violated(task + std::to_string(found[k].size()) + " of " + std::to_string(sure) + " flushed bytes");
    const int64_t wrong = first_difference(found[k], wanted[k]);
    if (wrong >= 0 && !(promise.frames && wrong >= sure))
      violated(task + "wrong byte " + std::to_string(wrong));
    if (std::ssize(found[k]) > std::ssize(wanted[k]) && !promise.frames && !accepted.lacks_bytes())
      violated(task + "bytes that were never written");
  }
}

bool any_flushed(const Accepted& accepted) {
  for (int64_t t = 0; t < accepted.ntasks(); ++t)
    if (accepted.committed(t) > 0) return true;
  return false;
}

}  // namespace

Streams read_streams(Store& store, const std::string& path, bool* unclosed) {
  Reader all(store, path, mode_of("r"));
  Streams streams;
  bool any = false;
  for (int64_t t = 0; t < all.ntasks(); ++t) {
    all.select(t);
    any |= all.facts().unclosed;
    std::vector<std::byte> bytes(static_cast<size_t>(all.stream().sizes().total()) + 1);
    bytes.resize(all.stream().read(bytes));
    streams.push_back(std::move(bytes));
  }
  if (unclosed) *unclosed = any || all.facts().unclosed;
  return streams;
}

void check_streams(Store& store, const std::string& path, Ending ending, const Promise& promise,
                   const std::optional<Streams>& old, const Accepted& accepted) {
  const Streams wanted = complete_streams(promise, old, accepted);
  if (ending == Ending::closed) return check_closed(store, path, wanted, accepted);
  const bool keeps_old = old && (promise.atomic || promise.appends);
  bool unclosed = false;
  Streams found;
  if (const auto problem = attempt([&] { found = read_streams(store, path, &unclosed); })) {
    if (keeps_old) violated(std::string("the old generation cannot be read: ") + problem->what());
    if (promise.flushes && !promise.atomic && any_flushed(accepted))
      violated(std::string("flushed bytes cannot be read: ") + problem->what());
    return;
  }
  if (!unclosed) {
    if (old && difference(found, *old).empty()) return;
    if (accepted.lacks_bytes())
      violated("the close failed, and readers find a complete file that lacks bytes");
    const auto wrong = difference(found, wanted);
    if (!wrong.empty()) violated("the close failed, and readers find a complete file; " + wrong);
    return;
  }
  if (promise.atomic) violated("an atomic file is unclosed under its name");
  check_unclosed(found, wanted, promise, old, accepted);
}

}  // namespace sheaf::test::campaign
