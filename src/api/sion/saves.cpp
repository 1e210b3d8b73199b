// Saves in the background: handles of saves, and the newest durable multifile.
#include <cstring>
#include <mutex>
#include <string>

#include "api/sion/handles/exported.hpp"
#include "api/sion/handles/on_handle.hpp"
#include "api/sion/opening.hpp"
#include "api/sion/save_handle.hpp"
#include "base/assert.hpp"
#include "multifile/saves/recorded_save.hpp"
#include "multifile/saves/retention.hpp"
#include "sfio/striped_store.hpp"

using namespace sheaf;
using namespace sheaf::api;
using saves::SaveState;

namespace {

int as_int(SaveState state) { return static_cast<int>(state); }

// Notes that the program has learned of a failure.
int told(saves::TaskSave& save, SaveState state) {
  if (state == SaveState::failed) save.tell();
  return as_int(state);
}

// Stores `identity` as text. Throws not_found, naming `path`, if it is zeros.
void put_generation(const format::Identity& identity, const std::string& path, char* text) {
  require(text, "text");
  if (identity == format::Identity{})
    throw file_error(Code::not_found, path, "has no generation: it has none of the extensions of Sheaf");
  const std::string digits = format::digits_of(identity);
  SHEAF_ASSERT(digits.size() + 1 == SHEAF_GENERATION_SIZE);
  std::memcpy(text, digits.c_str(), SHEAF_GENERATION_SIZE);
}

}  // namespace

sheaf_save* sheaf_parclose_async(int sid) {
  static constexpr const char* function = "sheaf_parclose_async";
  sheaf_save* const none = nullptr;
  return on_found_handle(function, sid, none, none, [&](SionHandle& handle) {
    if (!handle.closing.save)
      throw Error(Code::wrong_mode, "the multifile was not opened with 'async' for writing; it stays open");
    return collective_call(job_end_of(handle), function, [&] {
      auto save = std::make_unique<sheaf_save>();
      save->save = close_handle(function, sid, handle);
      return save.release();
    });
  });
}

sheaf_save* sheaf_save_of(const char* name) {
  sheaf_save* const none = nullptr;
  return guarded("sheaf_save_of", -1, none, [&] {
    require(name, "name");
    auto save = std::make_unique<sheaf_save>();
    save->save = saves::find_save(saves::ProcessSaves::here(), sfio::any_store_for(name), name);
    return save.release();
  });
}

int sheaf_save_test(sheaf_save* save) {
  return guarded("sheaf_save_test", -1, SHEAF_SAVE_FAILED, [&] {
    require(save, "save");
    return told(*save->save, save->save->look());
  });
}

int sheaf_save_wait(sheaf_save* save, int state) {
  return guarded("sheaf_save_wait", -1, 0, [&] {
    require(save, "save");
    return wait_for_save(*save, state);
  });
}

const char* sheaf_save_error(sheaf_save* save) {
  return guarded("sheaf_save_error", -1, "", [&] {
    require(save, "save");
    const auto failure = save->save->failure();
    if (!failure) return "";
    save->save->tell();
    std::call_once(save->described, [&] { save->error = failure->what(); });
    return save->error.c_str();
  });
}

int sheaf_save_progress(sheaf_save* save, long long* bytes, long long* written) {
  return guarded("sheaf_save_progress", -1, SHEAF_SAVE_FAILED, [&] {
    require(save, "save");
    const saves::SaveBytes now = save->save->bytes();
    if (bytes) *bytes = now.captured;
    if (written) *written = now.written;
    return told(*save->save, save->save->look());
  });
}

int sheaf_save_generation(sheaf_save* save, char* text) {
  return succeeds("sheaf_save_generation", -1, [&] {
    require(save, "save");
    put_generation(save->save->identity(), save->save->path(), text);
  });
}

int sheaf_generation(int sid, char* text) {
  return succeeds_on_handle("sheaf_generation", sid, [&](SionHandle& handle) {
    if (!handle.reads) throw Error(Code::wrong_mode, "the multifile is open for writing, not for reading");
    put_generation(handle.reads->read_generation().value_or(format::Identity{}), handle.path(), text);
  });
}

void sheaf_save_free(sheaf_save* save) { delete save; }

long long sheaf_latest(const char* pattern, char* name, unsigned long long size) {
  return guarded("sheaf_latest", -1, -1LL, [&] {
    require(pattern, "pattern");
    const std::string found = saves::latest_save(*sfio::any_store_for(pattern), pattern);
    if (found.size() >= size || !name)
      throw Error(Code::out_of_range, "the name needs " + std::to_string(found.size() + 1) + " bytes");
    std::memcpy(name, found.c_str(), found.size() + 1);
    return static_cast<long long>(found.size());
  });
}

namespace sheaf::api {

int wait_for_save(sheaf_save& handle, int state) {
  if (state < SHEAF_SAVE_CAPTURED || state > SHEAF_SAVE_DURABLE)
    throw Error(Code::invalid_argument, std::to_string(state) + " is no state of a save to wait for");
  if (handle.save->wait(static_cast<SaveState>(state))) return 1;
  const auto failure = handle.save->failure();
  if (!failure) return 0;  // skipped
  handle.save->tell();
  throw *failure;
}

}  // namespace sheaf::api
