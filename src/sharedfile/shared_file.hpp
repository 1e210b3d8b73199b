// sharedfile/shared_file: a file that all tasks of a group share, with views, file pointers, independent and
// collective transfers: what MPI-IO needs (MPI 3.1, chapter 13), without MPI.
//
// Every task holds one SharedFile. "Collective": all tasks make the same calls in the same order; a failure
// on one task is thrown on all (comm/agree.hpp), none hangs. "Local": no other task is involved. Positions
// and sizes are bytes of the view's stream unless said otherwise; a caller multiplies its offsets by the size
// of its etype.
//
// Transfers take a view and a position, so that they do not depend on what the task does meanwhile: a
// nonblocking call takes its snapshot with view() and claims its place with claim_*() at once, and carries
// out the transfer later, from any thread.
//
// Threads: local transfers and claim_individual() may be called from several threads. Collective calls go
// through a Sequence: one thread at a time on one Sequence, in the same order on all tasks. The file has a
// sequence of its own, which open() to close() use; nonblocking collectives of another thread need their own
// from make_sequence() - one is enough for all of them if they are carried out in the order in which they
// were called (all tasks call them in one order).
//
// Errors: sheaf::Error. wrong_mode: writing to a file opened for reading, and the like. not_found,
// permission, no_space, io: as the operating system says. An error leaves the file pointers where they were
// claimed; what is in the range of a failed write is undefined. sync() and close() throw the error of a
// failed write on all tasks until its task has written the same bytes, or the file was cut in front of them.
#pragma once

#include <memory>
#include <string>

#include "base/error.hpp"
#include "comm/comm.hpp"
#include "sharedfile/hints.hpp"
#include "sharedfile/statistics.hpp"
#include "sharedfile/view.hpp"
#include "storage/file.hpp"

namespace sheaf {

struct SharedMode {
  bool read = false;
  bool write = false;  // both: read and write; a file opened for writing is opened for reading inside as well
                       // where it can
  bool create = false;
  bool exclusive = false;  // with create: must not exist
  bool delete_on_close = false;
  bool append = false;  // file pointers begin at the end of the file
};

// What collective transfers need of their own: a group to talk in, memory that the tasks of a node share, the
// plan of the last call. Destroyed on all tasks in the same order.
class Sequence;

class SHEAF_EXPORT SharedFile {
 public:
  // Collective over `comm`, which the file keeps. `store` outlives it. Task 0 creates the file. Throws on
  // all tasks what the first failing one met; io with EEXIST for an exclusive create of something that
  // exists.
  static std::unique_ptr<SharedFile> open(std::unique_ptr<Comm> comm, Store& store, const std::string& path,
                                          const SharedMode& mode, const Hints& hints = {});
  virtual ~SharedFile() = default;

  // Collective. The file is closed also when this throws. Statistics are reported (SHEAF_STATS), the file is
  // deleted if it was opened so.
  virtual void close() = 0;

  virtual int rank() const = 0;
  virtual const std::string& path() const = 0;
  virtual Hints hints() const = 0;                 // as they were asked for
  virtual Hints hints_in_use() const = 0;          // with what was chosen for the automatic ones; local
  virtual void set_hints(const Hints& hints) = 0;  // collective; aggregators and buffer sizes of later calls
  virtual Statistics statistics() const = 0;       // of this task so far; local

  // Collective. The own sequence is sequence().
  virtual std::unique_ptr<Sequence> make_sequence() = 0;
  virtual Sequence& sequence() = 0;

  // --- the file
  // ---------------------------------------------------------------------------------------------------
  virtual int64_t bytes() = 0;             // size of the file; local
  virtual void resize(int64_t bytes) = 0;  // collective (MPI_File_set_size)
  virtual void preallocate(
      int64_t bytes) = 0;   // collective: the file has at least so many bytes, and room for them
  virtual void sync() = 0;  // collective (MPI_File_sync)
  virtual void set_atomic(bool atomic) = 0;  // collective
  virtual bool atomic() const = 0;

  // --- view and pointers
  // ------------------------------------------------------------------------------------------ Collective.
  // Sets both pointers to 0. Throws invalid_argument if a view cannot be: displacement < 0, file type that
  // goes back within an instance (or overlaps itself, if the file is open for writing) or without data, size
  // no multiple of the etype. This task's view then stays. Agreed::now: on all tasks, whose views stay too.
  // Agreed::at_transfer: on that task only, which waits for nobody; the next collective transfer throws it on
  // all, unless all have set another view before.
  enum class Agreed : uint8_t { now, at_transfer };
  virtual void set_view(const View& view, Agreed when = Agreed::now) = 0;
  virtual std::shared_ptr<const View> view() const = 0;  // local

  // Local. Returns the individual pointer and moves it on by `bytes` (0 to look only).
  virtual int64_t claim_individual(int64_t bytes) = 0;
  virtual void seek_individual(int64_t position) = 0;
  // The pointer that all tasks share. claim_shared(): local, but excludes other tasks; position before it was
  // moved.
  virtual int64_t claim_shared(int64_t bytes) = 0;
  // Collective: where it is once all tasks have come.
  virtual int64_t shared_position() = 0;
  virtual void seek_shared(int64_t position) = 0;  // collective; the same position everywhere
  // Collective. The shared pointer moves on by the bytes of all tasks; returns this task's place, in rank
  // order.
  virtual int64_t claim_ordered(Sequence& sequence, int64_t bytes) = 0;

  // Bytes of the view's stream up to the end of the file (MPI_SEEK_END). Local.
  virtual int64_t end_of_stream(const View& view) = 0;

  // --- transfers
  // -------------------------------------------------------------------------------------------------- Return
  // the bytes transferred; reads end at the end of the file.
  virtual int64_t write_at(const View& view, int64_t position, const Source& from) = 0;    // local
  virtual int64_t read_at(const View& view, int64_t position, const Destination& to) = 0;  // local
  // The collective ones may return before others have come, and what goes wrong there is then thrown on all
  // by the next one, by sync() or by close() (docs/sharedfile.md, "Ahead of the others").
  virtual int64_t write_at_all(Sequence& sequence, const View& view, int64_t position,
                               const Source& from) = 0;  // collective
  virtual int64_t read_at_all(Sequence& sequence, const View& view, int64_t position,
                              const Destination& to) = 0;  // collective
  // Collective, for nonblocking calls that find an error before they can take part in the transfer: this task
  // takes part with nothing and makes all tasks fail with `problem`.
  virtual void fail_all(Sequence& sequence, bool writes, const Error& problem) = 0;
};

}  // namespace sheaf
