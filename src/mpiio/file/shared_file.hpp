// mpiio/file/shared_file: a file shared by all tasks of a group, with views, file pointers, independent and
// collective transfers. It provides what MPI-IO needs (MPI 3.1, chapter 13), without MPI.
//
// Every task holds one SharedFile. "Collective": all tasks make the same calls in the same order; a failure
// on one task is thrown on all (comm/agree.hpp), and none hangs. "Local": no other task is involved.
// Positions and sizes are bytes of the view's stream unless noted otherwise; callers multiply their offsets
// by the size of their etype.
//
// Transfers take a view and a position, so that later calls of the task do not affect them. A nonblocking
// call takes a snapshot with view() and advances a file pointer with claim_*() at once. It performs the
// transfer later, from any thread.
//
// Threads: local transfers and claim_individual() may be called from several threads. Collective calls use a
// Sequence: one thread at a time per Sequence, in the same order on all tasks. The file has its own sequence,
// which open() to close() use. Nonblocking collectives of another thread need a sequence from
// make_sequence(). A single sequence suffices if the calls are performed in call order, which is the
// same on all tasks.
//
// Errors: sheaf::Error. wrong_mode: for example, writing to a file opened for reading. not_found, permission,
// no_space, io: as reported by the operating system. After an error, file pointers keep their advanced
// positions. The contents of the range of a failed write are undefined. sync() and close() throw the error of
// a failed write on all tasks. They do so until the failing task has written the same bytes, or the file has
// been truncated to a size that excludes these bytes.
#pragma once

#include <memory>
#include <string>

#include "base/error.hpp"
#include "comm/comm.hpp"
#include "mpiio/file/file_pointers.hpp"
#include "mpiio/file/hints.hpp"
#include "mpiio/file/statistics.hpp"
#include "mpiio/file/view.hpp"
#include "storage/file.hpp"

namespace sheaf::mpiio {

struct SharedMode {
  bool read = false;
  // With `read`: read and write. Files opened for writing are also opened for reading where possible.
  bool write = false;
  bool create = false;
  bool exclusive = false;  // with `create`: the file must not exist
  bool delete_on_close = false;
  bool append = false;  // file pointers start at the end of the file
};

// The state of one sequence of collective transfers: a communicator, the memory shared by the tasks of a
// host, and the plan of the last call. All tasks must destroy their sequences in the same order.
class Sequence;

class SHEAF_EXPORT SharedFile : public FilePointers {
 public:
  // Opens a file. Collective over `comm`, which the file takes over. `store` must outlive the file. Task 0
  // creates the file if `mode` requests it. On failure throws the error of the first failing task on all
  // tasks. An exclusive create of an existing path throws io with EEXIST.
  static std::unique_ptr<SharedFile> open(std::unique_ptr<Comm> comm, Store& store, const std::string& path,
                                          const SharedMode& mode, const Hints& hints = {});
  virtual ~SharedFile() = default;

  // Collective. Closes the file, even if the call throws. Reports statistics (SHEAF_STATS). Removes the file
  // if it was opened with delete_on_close.
  virtual void close() = 0;

  virtual Hints hints() const = 0;         // as requested
  virtual Hints hints_in_use() const = 0;  // with the values chosen for automatic ones; local
  // Collective; changes aggregators and buffer sizes of later calls.
  virtual void set_hints(const Hints& hints) = 0;
  virtual Statistics statistics() const = 0;  // counters of this task so far; local

  // make_sequence() is collective. sequence() is the file's own sequence.
  virtual std::unique_ptr<Sequence> make_sequence() = 0;
  virtual Sequence& sequence() = 0;

  // --- The file.
  virtual int64_t bytes() = 0;             // size of the file; local
  virtual void resize(int64_t bytes) = 0;  // collective (MPI_File_set_size)
  // Collective. Extends the file to at least `bytes` and allocates space for them.
  virtual void preallocate(int64_t bytes) = 0;
  virtual void sync() = 0;                   // collective (MPI_File_sync)
  virtual void set_atomic(bool atomic) = 0;  // collective
  virtual bool atomic() const = 0;

  // Local. Returns the number of bytes of the view's stream before the end of the file (MPI_SEEK_END).
  virtual int64_t end_of_stream(const View& view) = 0;

  // --- Transfers. They return the bytes transferred; reads stop at the end of the file.
  virtual int64_t write_at(const View& view, int64_t position, const Source& from) = 0;    // local
  virtual int64_t read_at(const View& view, int64_t position, const Destination& to) = 0;  // local
  // Collective. These calls may return before other tasks have entered. A later failure is then thrown on all
  // tasks by the next collective transfer, by sync() or by close() (docs/sharedfile.md, "Ahead of the
  // others").
  virtual int64_t write_at_all(Sequence& sequence, const View& view, int64_t position,
                               const Source& from) = 0;
  virtual int64_t read_at_all(Sequence& sequence, const View& view, int64_t position,
                              const Destination& to) = 0;
  // Local. Records that a write of this task ran out of memory before it reached this file: sync() and
  // close() fail from then on.
  virtual void note_lost_write() noexcept = 0;
  // Collective. Takes the place of write_at_all() or read_at_all() on a task that has failed before the
  // transfer. This task contributes no bytes, and all tasks fail with `problem`.
  virtual void fail_all(Sequence& sequence, const Error& problem) = 0;

 protected:
  using FilePointers::FilePointers;
};

}  // namespace sheaf::mpiio
