// api/sion/opening: what the open calls of all families share. The families differ in where their Comm comes
// from.
#pragma once

#include <cstdio>
#include <functional>
#include <memory>
#include <string>

#include "api/sion/handles/handle.hpp"
#include "base/export.hpp"
#include "comm/comm.hpp"

namespace sheaf::api {

// Throws invalid_argument with this text unless it holds.
void need(bool holds, const char* text);

// Warns about words of the open mode that nobody knows.
void report_unknown_words(const char* function, const OpenMode& mode, int task);

// Warns if the open mode says otherwise than the file that was opened for reading about key-value records,
// and if it was never closed.
void report_found(const char* function, const OpenMode& mode, const Reader& reader, const std::string& path,
                  int task);

// Sets *fileptr (if wanted) to the program's stream, NULL in posix mode.
void give_stream(Handle& handle, FILE** fileptr);

// The open mode as it is with the words of the environment, which only the first task reads.
OpenMode mode_with_environment(const char* file_mode);

// Local, at the first task, before an open to write touches anything: takes the multifile `path`
// (journal/ownership). Null if `mode` does not write, or where that is impossible. Throws `foreign`.
std::shared_ptr<Ownership> take_ownership(const std::shared_ptr<Store>& store, const std::string& path,
                                          const OpenMode& mode);
// The handle keeps it until it is closed. Null on other tasks.
void keep_ownership(Handle& handle, std::shared_ptr<Ownership> ownership);

// Warns, once per time, if the program wrote beyond the current task's chunk through its own stream, as far
// as the library has noticed (WriteStream::take_overrun).
void report_overrun(const char* function, Handle& handle);

// Arguments of a parallel open, as the C interface has them (sion_mpi.h).
struct ParallelOpen {
  const char* function;
  const char* fname;
  const char* file_mode;
  int* numfiles;
  bool has_local;          // the caller named a variable for the local communicator
  bool has_group = false;  // that variable names a group; else all tasks are one
  // Makes the local group, collectively over all; null: there is none.
  std::function<std::unique_ptr<Comm>(Comm&)> local = {};
  long long* chunksize;
  int* fsblksize;
  int* globalrank = nullptr;
  FILE** fileptr;
  char** newfname;
  bool may_collect = true;        // this task may begin a group of tasks that write collectively
  bool shares = false;            // tasks of this process share a descriptor per physical file
  NameOf name_of = {};            // names of physical files, if not those of the format
  Reader::MeansOf means_of = {};  // reading: what collective calls use
  // Changes the mode that was agreed on, alike on all tasks; collective
  std::function<void(Comm&, OpenMode&)> adjust = {};
  // Writing: decides on the physical files; null: the request and the mode do. Collective; throws on all
  // tasks alike.
  std::function<void(Comm&, ParallelWriteRequest&, const OpenMode&)> place = {};
};

// The files of a multifile `fname`, as long as its handle lives, whatever directory is current meanwhile.
// `named`: physical files have names of the caller's. shares: one descriptor per physical file for all tasks
// of this process.
std::shared_ptr<Store> store_for(const char* fname, bool named, bool shares);

// Collective over `comm` if `agrees`. The last steps of an open, which can fail on one task only: the stream
// for the program and what `more` does, then the handle goes into the table. Returns its sid, or throws on
// all tasks alike and forgets what was opened.
int enter_opened(Comm& comm, bool agrees, std::unique_ptr<Handle> handle, FILE** stream,
                 const std::function<void(Handle&)>& more);

// Collective over `comm`. Returns a sid, or -1 on every task.
SHEAF_EXPORT int open_parallel(std::unique_ptr<Comm> comm, const ParallelOpen& call);

// Collective. 1; -1 for an invalid handle, 0 otherwise. by: mapped: only what was opened so.
SHEAF_EXPORT int close_parallel(const char* function, int sid, OpenedBy by = OpenedBy::parallel);
// What every close does: with its streams and out of the table; throws. Collective if the open was.
void close_handle(const char* function, int sid, Handle& handle);
SHEAF_EXPORT int reinit_parallel(const char* function, int sid, long long chunksize);

// The Comm of a parallel handle (all tasks of the multifile), or null.
SHEAF_EXPORT Comm* comm_of(int sid);

}  // namespace sheaf::api
