// sheaf/save: saves in the background (docs/async.md), for C++20.
//
//   sheaf::mpi::MultifileWriter out("restart", MPI_COMM_WORLD, {.chunk_size = bytes, .words = "async"});
//   out.write(std::span(state));
//   sheaf::Save save = sheaf::close_async(out);
//   compute();
//   save.wait();
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "stream.hpp"

namespace sheaf {
inline namespace v1 {

// A save that has been captured. Can be moved but not copied; the destructor releases the handle and lets the
// save continue. Any thread may call the methods, all of which are local.
class Save {
 public:
  enum class State : int {
    failed = SHEAF_SAVE_FAILED,
    skipped = SHEAF_SAVE_SKIPPED,
    captured = SHEAF_SAVE_CAPTURED,
    local = SHEAF_SAVE_LOCAL,
    durable = SHEAF_SAVE_DURABLE,
  };

  // Returns the newest save of the multifile `name` (sheaf_save_of). Throws Error if there is none.
  static Save of(const std::string& name) { return Save(sheaf_save_of(name.c_str())); }
  // Takes a handle of the C interface. Throws Error with the last message if it is null.
  explicit Save(sheaf_save* save) : save_(save) { detail::require(save_ != nullptr); }
  Save(Save&& other) noexcept : save_(std::exchange(other.save_, nullptr)) {}
  Save& operator=(Save&& other) noexcept {
    std::swap(save_, other.save_);
    return *this;
  }
  ~Save() { sheaf_save_free(save_); }

  // Returns the state that the hosts have recorded. Never waits.
  State test() const { return State{sheaf_save_test(save_)}; }
  bool durable() const { return test() == State::durable; }
  // Waits until the save has reached `state`. Returns false if it was skipped. Throws Error if it has failed.
  bool wait(State state = State::durable) const {
    if (sheaf_save_wait(save_, static_cast<int>(state)) == 1) return true;
    if (test() == State::failed) throw Error(error());
    return false;
  }
  // Returns why the save has failed, or "".
  std::string error() const { return sheaf_save_error(save_); }
  // Return the bytes that this task has captured, and those of them that are written.
  std::int64_t bytes() const { return progress().first; }
  std::int64_t written() const { return progress().second; }

  // Returns which generation the save is (sheaf_save_generation).
  std::string generation() const {
    char text[SHEAF_GENERATION_SIZE] = "";
    detail::require(sheaf_save_generation(save_, text) == 1);
    return text;
  }

  sheaf_save* handle() const { return save_; }

 private:
  std::pair<std::int64_t, std::int64_t> progress() const {
    long long bytes = 0, written = 0;
    sheaf_save_progress(save_, &bytes, &written);
    return {bytes, written};
  }

  sheaf_save* save_;
};

// Closes a multifile that was opened for writing with the word "async", and returns its save. Collective if
// the open was. Throws Error on failure; a multifile that was opened without that word stays open.
inline Save close_async(Stream& stream) {
  sheaf_save* const save = sheaf_parclose_async(stream.handle());
  if (save || std::strcmp(sheaf_last_error_kind(nullptr, nullptr), "wrong_mode") != 0) stream.release();
  return Save(save);
}

// Returns which generation a multifile that is open for reading is (sheaf_generation). Throws Error.
inline std::string generation(const Stream& stream) {
  char text[SHEAF_GENERATION_SIZE] = "";
  detail::require(sheaf_generation(stream.handle(), text) == 1);
  return text;
}

// Returns the newest durable multifile that matches `pattern` (sheaf_latest); "" if there is none.
inline std::string latest(const std::string& pattern) {
  std::string name(4096, '\0');
  const long long length = sheaf_latest(pattern.c_str(), name.data(), name.size());
  detail::require(length >= 0);
  name.resize(static_cast<std::size_t>(length));
  return name;
}

}  // namespace v1
}  // namespace sheaf
