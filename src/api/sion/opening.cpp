#include "api/sion/opening.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "api/sion/forgotten.hpp"
#include "api/sion/handles/exported.hpp"
#include "api/sion/handles/on_handle.hpp"
#include "base/os/host_name.hpp"
#include "base/parse.hpp"
#include "base/printable.hpp"
#include "multifile/options/environment.hpp"
#include "multifile/saves/save_files.hpp"
#include "sfio/stripe_name.hpp"
#include "sfio/striped_store.hpp"
#include "storage/decorators/shared_handles.hpp"

namespace sheaf::api {

using multifile::OpenMode;
using multifile::Ownership;
using multifile::Reader;
using multifile::Writer;

void need(bool holds, const char* text) {
  if (!holds) throw Error(Code::invalid_argument, text);
}

void report_unknown_words(const char* function, const OpenMode& mode, int task) {
  for (const std::string& word : mode.unknown) {
    const std::string meant(trimmed(word));
    std::string told = "'" + word + "' in the open mode is ignored";
    if (meant == word) {
      told = "unknown word " + told + "; the words are " + std::string(multifile::known_words());
    } else {
      told += ", because the blanks count; write '" + meant + "' if it is meant";
    }
    warn(function, told, task);
  }
}

void report_found(const char* function, const OpenMode& mode, const Reader& reader, const std::string& path,
                  int task) {
  const multifile::FileFacts facts = reader.facts();
  const bool knows = reader.whole() || reader.task() >= 0;
  if (knows && mode.keyval == format::KeyvalMode::inline_ && !facts.keyval)
    warn(function, "the open mode says keyval, but the multifile holds no key-value records", task);
  if (knows && mode.keyval == format::KeyvalMode::none && facts.keyval)
    warn(function, "the open mode says keyval=none, but the multifile holds key-value records", task);
  if (facts.guessed)
    warn(function,
         "'" + path +
             "' was not closed by its program and has been repaired; where its streams end, and chunks in "
             "them, was guessed (`sheaf info` says of how many)",
         task);
  if (facts.unclosed)
    warn(function,
         "'" + path +
             "' was not closed; what its tasks had flushed, and chunks they had completed, can be read (" +
             multifile::advice_on_unclosed(sfio::any_store(), path) + ")",
         task);
}

OpenMode mode_with_environment(const char* file_mode) {
  return multifile::parse_open_mode(file_mode ? file_mode : "", multifile::words_of_environment());
}

namespace {

// Returns true if physical file 0 of a multifile is marked as closed, or if this cannot be determined.
bool seems_closed(Store& store, const std::string& path) {
  bool closed = true;
  const auto problem = attempt([&] {
    const auto file = store.open(path, Access::read);
    closed = multifile::MetadataReader(*file).read_pointer().complete();
  });
  return closed && !(problem && problem->code() == Code::unclosed);
}

}  // namespace

std::shared_ptr<Ownership> take_ownership(const std::shared_ptr<Store>& store, const std::string& path,
                                          const OpenMode& mode) {
  if (!mode.writes()) return nullptr;
  multifile::OwnershipRequest request;
  request.steals = mode.steal;
  // An append to an unclosed file fails. The failing call must not invalidate a handle of this process that
  // is writing the file, and must not change the files that a killed program left.
  if (mode.append && !seems_closed(*store, path)) {
    if (multifile::look_at_lease(*store, path).holder != multifile::Holder::living)
      throw Error(Code::unclosed, "'" + path +
                                      "' cannot be appended to: it was never closed; make it complete with "
                                      "`sheaf repair` first");
    request.reopens = false;
  }
  return Ownership::take(store, path, request);
}

void tell_files_chosen(const char* function, const OpenMode& mode, int given, int chosen) {
  if (!mode.is_async() || !mode.async.chooses_files || given <= 0 || given == chosen) return;
  warn(function,
       "the multifile has " + std::to_string(chosen) + " physical files instead of " + std::to_string(given) +
           ", one for each host, because 'async' saves them without messages; files=" +
           std::to_string(given) + " in the open mode keeps the number",
       0);
}

AcquiredName acquire_name(const std::shared_ptr<Store>& store, const std::string& path,
                          const OpenMode& mode) {
  AcquiredName name;
  if (!mode.writes()) return name;
  auto& saves = saves::ProcessSaves::here();
  const bool is_known = saves.newest(store->place_of(path)) != nullptr;
  name.earlier = saves::await_earlier(saves, *store, path, mode);
  if (name.earlier.skips) return name;
  if (name.earlier.pending) name.ownership = name.earlier.pending->ownership();
  if (name.ownership) return name;
  name.ownership = take_ownership(store, path, mode);
  const bool took_over = name.ownership && name.ownership->took_over();
  const bool resumes = took_over ? !mode.steal : mode.is_async();
  if (name.ownership && !is_known && resumes) saves::resume_saves(*store, path);
  return name;
}

std::unique_ptr<saves::BegunSave> begin_background(Comm& comm, const OpenMode& mode, const AtomicName* name,
                                                   const OpenStart& start) {
  if (!mode.is_async()) return nullptr;
  // Writing striped files sends messages, which the thread in the background must not do.
  if (sfio::is_stripe_path(name->path))
    throw Error(Code::unsupported, "'" + name->path + "': striped files cannot be written with 'async'");
  return saves::begin_save(comm, saves::ProcessSaves::here(), start.store, mode,
                           {name->path, name->temporary}, start.earlier);
}

void keep_ownership(SionHandle& handle, std::shared_ptr<Ownership> ownership) {
  if (!handle.writes) return;
  handle.writes->own(ownership);
  handle.closing.ownership = std::move(ownership);
}

void give_stream(SionHandle& handle, FILE** fileptr) {
  if (fileptr) *fileptr = handle.opened.posix ? nullptr : handle.stream();
}

namespace {

// Validates the arguments and sets `own`, the mode requested by this task.
std::optional<Error> check_arguments(const ParallelOpen& call, int task, OpenMode& own) {
  return attempt([&] {
    need(call.fname, "No file name given");
    need(call.numfiles, "No numFiles variable given");
    need(call.chunksize, "No chunksize variable given");
    need(call.fsblksize, "No fsblksize variable given");
    need(call.has_local, "No lComm variable given");
    own = multifile::parse_open_mode(call.file_mode ? call.file_mode : "");
    if (own.creates() && *call.chunksize < 0)
      throw Error(Code::invalid_argument,
                  std::string("'") + call.fname + "': chunk size " + std::to_string(*call.chunksize) +
                      " of task " + std::to_string(task) + " is negative",
                  0, task);
  });
}

std::unique_ptr<SionHandle> open_parallel_to_write(std::unique_ptr<Comm> comm, const ParallelOpen& call,
                                                   const OpenStart& start, const OpenMode& mode) {
  auto atomic =
      begin_atomic(*comm, mode, call.fname, *start.store, call.name_of != nullptr, start.ownership.get());
  multifile::ParallelWriteRequest request{.path = atomic ? std::string_view(atomic->temporary) : call.fname,
                                          .stored_name = call.fname,
                                          .nfiles = *call.numfiles,
                                          .local = nullptr,
                                          .name_of = call.name_of,
                                          .chunk_size = *call.chunksize,
                                          .fsblksize = *call.fsblksize};
  if (call.place) {
    call.place(*comm, request, mode);
  } else if (mode.file_policy == multifile::FilePolicy::caller && request.nfiles <= 0) {
    request.local = call.local(*comm);
  }
  auto save = begin_background(*comm, mode, atomic.get(), start);
  const auto store = store_of(start, save.get());
  auto writer = std::make_unique<Writer>(*store, std::move(comm), std::move(request), mode);
  if (save) saves::capture_frames(*writer, *save);
  auto handle = std::make_unique<SionHandle>(store, std::move(writer), mode);
  handle->closing.atomic = std::move(atomic);
  handle->closing.save = std::move(save);
  return handle;
}

std::unique_ptr<SionHandle> open_parallel_to_read(std::unique_ptr<Comm> comm, const ParallelOpen& call,
                                                  const OpenStart& start, const OpenMode& mode) {
  auto reader =
      std::make_unique<Reader>(*start.store, std::move(comm), call.fname, mode, call.name_of, call.means_of);
  return std::make_unique<SionHandle>(start.store, std::move(reader), mode);
}

std::unique_ptr<SionHandle> open_parallel_to_append(std::unique_ptr<Comm> comm, const ParallelOpen& call,
                                                    const OpenStart& start, const OpenMode& mode) {
  const int64_t task = comm->rank();
  const multifile::MappedAppendRequest request{{call.fname, false, std::span(&task, 1), call.name_of},
                                               comm->size(),
                                               start.ownership ? start.ownership->right() : nullptr};
  return std::make_unique<SionHandle>(
      start.store, std::make_unique<Writer>(*start.store, std::move(comm), request, mode), mode);
}

// Prints how a file is accessed collectively, if SION_COLLDEBUG requests it. The first task of the file
// prints one line. From level 3 on, each collector prints another line.
template <class Opened>
void report_collectors(Opened& opened, const std::string& path, const char* what, int level) {
  auto* const together = opened.collective();
  if (level < 1 || !together) return;
  if (opened.local().rank() == 0)
    std::fprintf(stderr, "collective statistics: %s %s: %d tasks, %lld collectors, %lld bytes per round\n",
                 what, printable(path).c_str(), opened.local().size(),
                 static_cast<long long>(together->group().place().count),
                 static_cast<long long>(opened.stream().geometry().skip));
  if (level >= 3 && together->group().is_collector())
    std::fprintf(stderr, "collective statistics: %s %s: task %d collects for %d tasks\n", what,
                 printable(path).c_str(), static_cast<int>(opened.task()), together->group().size());
}

void report_collectors(SionHandle& handle, int level) {
  if (handle.writes) report_collectors(*handle.writes, handle.path(), "writing", level);
  if (handle.reads) report_collectors(*handle.reads, handle.path(), "reading", level);
}

}  // namespace

std::shared_ptr<Store> store_for(const char* fname, bool named, bool shares) {
  static auto* const all =
      new SharedHandles(sfio::any_store());  // handles may be closed while the process exits
  auto store = named || !fname ? sfio::any_store_here() : sfio::any_store_for(fname);
  return shares ? std::make_shared<SharedHandles>(std::move(store), *all) : std::move(store);
}

int enter_opened(Comm& comm, bool agrees, std::unique_ptr<SionHandle> handle, FILE** stream,
                 const std::function<void(SionHandle&)>& more) {
  SionHandle& opened = *handle;
  FILE* made = nullptr;
  int sid = -1;
  const auto problem = attempt([&] {
    give_stream(opened, stream ? &made : nullptr);
    more(opened);
    sid = add_handle(handle);
  });
  try {
    if (agrees) agree(comm, problem);
    if (problem) throw *problem;
  } catch (...) {
    if (opened.writes) opened.writes->discard();
    remove_handle(sid);
    throw;
  }
  if (stream) *stream = made;
  if (opened.writes) watch_exit();
  return sid;
}

namespace {

// Opens the multifile in the agreed mode and sets the results that do not depend on the handle. Collective.
std::unique_ptr<SionHandle> open_in_mode(std::unique_ptr<Comm> comm, const ParallelOpen& call,
                                         OpenStart& start, const OpenMode& mode) {
  const int task = comm->rank();
  const auto open = mode.append     ? open_parallel_to_append
                    : mode.writes() ? open_parallel_to_write
                                    : open_parallel_to_read;
  auto handle = open(std::move(comm), call, start, mode);
  keep_ownership(*handle, std::move(start.ownership));
  if (task == 0) tell_files_chosen(call.function, mode, *call.numfiles, handle->facts().nfiles);
  *call.numfiles = handle->facts().nfiles;
  *call.fsblksize = handle->facts().fsblksize;
  if (!mode.creates()) *call.chunksize = handle->geometry().size;
  if (task == 0 && !mode.writes()) report_found(call.function, mode, *handle->reads, call.fname, task);
  if (!mode.append) handle->opened.buddies = mode.collective.buddies;
  report_collectors(*handle, mode.collective.debug);
  return handle;
}

// Returns the path that the current physical file has after the close, in memory of malloc().
char* allocated_path(const SionHandle& opened) {
  std::string path = opened.path();
  if (opened.closing.atomic)
    path.replace(0, opened.closing.atomic->temporary.size(), opened.closing.atomic->path);
  char* const copy = strdup(path.c_str());
  if (!copy) throw std::bad_alloc();
  return copy;
}

}  // namespace

int open_parallel(std::unique_ptr<Comm> owned, const ParallelOpen& call) {
  const int task = owned->rank();
  bool reads = false;
  const int result = guarded_together(call.function, task, owned->job_end(), -1, [&] {
    OpenMode own;
    OpenStart start = start_open(call, task, check_arguments(call, task, own));
    // When the call reads or appends, numfiles and fsblksize are results, so their initial values are
    // ignored.
    int64_t same[3] = {};
    if (own.creates()) {
      same[0] = *call.numfiles;
      same[1] = *call.fsblksize;
      same[2] = *call.numfiles <= 0 && call.has_group;
    }
    // After the agreement, only a few local steps can fail on a single task: creating a stream or a name for
    // the program, and creating a thread for SIGTERM. `has_extras` requests a second agreement after these
    // steps.
    bool has_extras = call.fileptr || call.newfname;
    reads = !start.problem && own.direction == multifile::OpenDirection::read;
    OpenMode mode = agree_on_open(*owned, call, start, same, has_extras);
    if (call.adjust) call.adjust(*owned, mode);
    mode.collective.may_collect = call.may_collect && mode.collective.hosts.matches(host_name());
    if (task == 0) report_unknown_words(call.function, mode, task);
    Comm& comm = *owned;
    auto handle = open_in_mode(std::move(owned), call, start, mode);
    std::unique_ptr<char, void (*)(void*)> name(nullptr, std::free);
    const int sid = enter_opened(comm, has_extras || mode.term_flush, std::move(handle), call.fileptr,
                                 [&](SionHandle& opened) {
                                   if (call.newfname) name.reset(allocated_path(opened));
                                 });
    if (call.newfname) *call.newfname = name.release();
    if (call.globalrank) *call.globalrank = task;
    return sid;
  });
  if (result < 0 && reads) *call.numfiles = -1;
  return result;
}

}  // namespace sheaf::api
