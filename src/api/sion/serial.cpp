// Serial open and close.
#include <algorithm>
#include <cstdlib>
#include <limits>

#include "api/sion/array_out.hpp"
#include "api/sion/forgotten.hpp"
#include "api/sion/handles/exported.hpp"
#include "api/sion/handles/on_handle.hpp"
#include "api/sion/metadata_handle.hpp"
#include "api/sion/opening.hpp"
#include "multifile/metadata/task_rows.hpp"
#include "sfio/striped_store.hpp"

using namespace sheaf;
using namespace sheaf::multifile;
using namespace sheaf::api;

namespace {

OpenMode serial_mode(const char* function, const char* file_mode) {
  OpenMode mode = mode_with_environment(file_mode);
  if (mode.direction == OpenDirection::none) mode.direction = OpenDirection::read;
  report_unknown_words(function, mode, -1);
  return mode;
}

// Returns the mode of an open of one task of the multifile `path`.
OpenMode mode_of_task(const char* function, const char* file_mode, const std::string& path) {
  OpenMode mode = serial_mode(function, file_mode);
  if (mode.writes())
    throw Error(Code::wrong_mode, "'" + path + "': a single task can be opened for reading only");
  return mode;
}

std::unique_ptr<SionHandle> open_to_write(const char* fname, OpenMode mode, const int* ntasks, int* nfiles,
                                          sion_int64* const* chunksizes, sion_int32* fsblksize,
                                          int* const* globalranks) {
  require(ntasks, "ntasks");
  require(fsblksize, "fsblksize");
  if (*ntasks < 0) throw Error(Code::invalid_argument, std::to_string(*ntasks) + " tasks");
  if (!chunksizes || !*chunksizes) throw Error(Code::invalid_argument, "no chunk sizes given");
  if (!globalranks || !*globalranks) throw Error(Code::invalid_argument, "no global ranks given");
  const auto n = static_cast<size_t>(*ntasks);
  const std::vector<int64_t> sizes(*chunksizes, *chunksizes + n);
  const std::vector<int64_t> ranks(*globalranks, *globalranks + n);
  const auto alone = self_comm();
  OpenStart start{.store = sfio::any_store_for(fname)};
  AcquiredName acquired = acquire_name(start.store, fname, mode);
  auto ownership = std::move(acquired.ownership);
  start.earlier = std::move(acquired.earlier);
  mode.replaces = ownership && ownership->took_over() && !mode.atomic;
  mode.is_local = ownership && ownership->is_local();
  auto atomic = begin_atomic(*alone, mode, fname, *start.store, false, ownership.get());
  auto save = begin_background(*alone, mode, atomic.get(), start);
  const auto store = store_of(start, save.get());
  const SerialWriteRequest request{.path = atomic ? atomic->temporary : fname,
                                   .chunk_sizes = sizes,
                                   .globalranks = ranks,
                                   .fsblksize = *fsblksize,
                                   .stored_name = fname,
                                   .nfiles = nfiles ? std::max(*nfiles, 1) : 1};
  auto writer = std::make_unique<Writer>(*store, request, mode);
  if (save) saves::capture_frames(*writer, *save);
  *fsblksize = writer->facts().fsblksize;
  if (nfiles) tell_files_chosen("sion_open", mode, *nfiles, writer->facts().nfiles);
  if (nfiles) *nfiles = writer->facts().nfiles;
  auto handle = std::make_unique<SionHandle>(store, std::move(writer), mode);
  handle->closing.atomic = std::move(atomic);
  handle->closing.save = std::move(save);
  keep_ownership(*handle, std::move(ownership));
  return handle;
}

std::unique_ptr<SionHandle> open_to_read(const char* fname, const OpenMode& mode, int* ntasks, int* nfiles,
                                         sion_int64** chunksizes, sion_int32* fsblksize, int** globalranks) {
  const auto store = sfio::any_store_for(fname);
  auto reader = std::make_unique<Reader>(*store, fname, mode);
  const Multifile& m = reader->multifile();
  if (ntasks) *ntasks = static_cast<int>(m.ntasks());
  if (nfiles) *nfiles = reader->facts().nfiles;
  if (fsblksize) *fsblksize = reader->facts().fsblksize;
  report_found("sion_open", mode, *reader, fname, -1);
  TaskRows rows(m);
  const auto n = static_cast<size_t>(m.ntasks());
  ArrayOut sizes(chunksizes, n);
  ArrayOut ranks(globalranks, n);
  for (size_t t = 0; t < n; ++t) {
    const TaskRow& row = rows.at(static_cast<int64_t>(t));
    sizes.set(t, row.geometry.size);
    ranks.set(t, row.globalrank);
  }
  sizes.give();
  ranks.give();
  return std::make_unique<SionHandle>(store, std::move(reader), mode);
}

std::unique_ptr<SionHandle> open_to_append(const char* fname, OpenMode mode, int* ntasks, int* nfiles,
                                           sion_int64** chunksizes, sion_int32* fsblksize,
                                           int** globalranks) {
  const auto store = sfio::any_store_for(fname);
  auto ownership = take_ownership(store, fname, mode);
  mode.is_local = ownership && ownership->is_local();
  // An append returns the same results as an open for reading.
  open_to_read(fname, mode, ntasks, nfiles, chunksizes, fsblksize, globalranks);
  const MappedAppendRequest request{{fname, true, {}}, 0, ownership ? ownership->right() : nullptr};
  auto handle =
      std::make_unique<SionHandle>(store, std::make_unique<Writer>(*store, self_comm(), request, mode), mode);
  keep_ownership(*handle, std::move(ownership));
  return handle;
}

}  // namespace

int sion_open(char* fname, const char* file_mode, int* ntasks, int* nfiles, sion_int64** chunksizes,
              sion_int32* fsblksize, int** globalranks, FILE** fileptr) {
  return guarded("sion_open", -1, -1, [&] {
    require(fname, "fname");
    const OpenMode mode = serial_mode("sion_open", file_mode);
    auto handle =
        mode.append     ? open_to_append(fname, mode, ntasks, nfiles, chunksizes, fsblksize, globalranks)
        : mode.writes() ? open_to_write(fname, mode, ntasks, nfiles, chunksizes, fsblksize, globalranks)
                        : open_to_read(fname, mode, ntasks, nfiles, chunksizes, fsblksize, globalranks);
    handle->opened.by = OpenedBy::serial;
    give_stream(*handle, fileptr);
    if (mode.writes()) watch_exit();
    return add_handle(handle);
  });
}

int sion_open_rank(char* fname, const char* file_mode, sion_int64* chunksize, sion_int32* fsblksize,
                   int* rank, FILE** fileptr) {
  return guarded("sion_open_rank", rank ? *rank : -1, -1, [&] {
    require(fname, "fname");
    require(rank, "rank");
    const OpenMode mode = mode_of_task("sion_open_rank", file_mode, fname);
    const auto store = sfio::any_store_for(fname);
    auto reader = std::make_unique<Reader>(*store, fname, *rank, mode);
    report_found("sion_open_rank", mode, *reader, fname, *rank);
    if (chunksize) *chunksize = reader->stream().geometry().size;
    if (fsblksize) *fsblksize = reader->facts().fsblksize;
    auto handle = std::make_unique<SionHandle>(store, std::move(reader), mode);
    handle->opened.by = OpenedBy::serial;
    give_stream(*handle, fileptr);
    return add_handle(handle);
  });
}

int sheaf_metadata_stream(const sheaf_metadata* metadata, long long task, const char* words) {
  constexpr const char* function = "sheaf_metadata_stream";
  return guarded(function, static_cast<int>(task), -1, [&] {
    require(metadata, "metadata");
    const Multifile& m = metadata->multifile;
    const OpenMode mode = mode_of_task(function, words, m.path);
    auto reader = std::make_unique<Reader>(m, task, mode);
    report_found(function, mode, *reader, m.path, static_cast<int>(task));
    auto handle = std::make_unique<SionHandle>(metadata->store, std::move(reader), mode);
    handle->opened.by = OpenedBy::serial;
    return add_handle(handle);
  });
}

int sion_close(int sid) {
  return on_found_handle("sion_close", sid, SION_NOT_SUCCESS, SION_NOT_SUCCESS, [&](SionHandle& handle) {
    if (!handle.is_serial())
      throw Error(Code::wrong_mode,
                  "the handle was opened in parallel; close it with the call that fits its open");
    close_handle("sion_close", sid, handle);
  });
}

int _sion_close_sid(int sid) { return sion_close(sid); }
