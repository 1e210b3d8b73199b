// multifile/writer/writer: a multifile open for writing, by one process or by many. Each process has any
// number of tasks, one of which is current.
//
// Open and close are collective; writing is local. A few metadata writers gather the rows of the metadata,
// and each writes a slice of them. No process holds the rows of all tasks. A file is marked as complete only
// after the bytes of every task and the block tables are written.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "multifile/writer/close_protocol.hpp"
#include "multifile/writer/open_to_write.hpp"

namespace sheaf::multifile {

// Writing to the tasks of this process is in the base class.
class Writer : public TaskStreams {
 public:
  // Open the multifile and make its first task current. Each calls the function of that kind in
  // open_to_write, and throws what it throws.
  Writer(Store& store, const SerialWriteRequest& request, const OpenMode& mode)
      : TaskStreams(open_serial(store, request, mode)) {}
  Writer(Store& store, std::unique_ptr<Comm> comm, ParallelWriteRequest request, const OpenMode& mode)
      : TaskStreams(open_parallel(store, std::move(comm), std::move(request), mode)) {}
  Writer(Store& store, std::unique_ptr<Comm> comm, const MappedWriteRequest& request, const OpenMode& mode)
      : TaskStreams(open_mapped(store, std::move(comm), request, mode)) {}
  Writer(Store& store, std::unique_ptr<Comm> comm, const MappedAppendRequest& request, const OpenMode& mode)
      : TaskStreams(open_append(store, std::move(comm), request, mode)) {}

  int64_t ntasks() const { return set_.ntasks; }              // over all processes
  const std::string& base_name() const { return set_.path; }  // name of the set
  Comm* comm() { return set_.comm.get(); }                    // all processes
  Comm& local() { return set_.local(); }                      // tasks of this physical file
  int open_files() const { return static_cast<int>(set_.files.size()); }
  // Returns the global ranks of all tasks if one process has created the multifile for all; otherwise null.
  const std::vector<int64_t>* globalranks() const {
    return set_.placed && set_.placed->globalranks ? &*set_.placed->globalranks : nullptr;
  }
  // Returns null if the tasks write independently.
  CollectiveWriter* collective() { return set_.collecting ? set_.collecting->writer.get() : nullptr; }
  // Calls CollectiveWriter::write(). Collective over the tasks of the physical file. Requires collective().
  void write_collectively(std::span<const std::byte> data, const std::optional<Error>& mine);

  // Sets new chunk sizes before the first write. Collective. Throws wrong_mode on every task if any task has
  // written, or unless each process has exactly one new task.
  void resize_chunks(int64_t chunk_size);

  // Keeps compressed streams uncompressed in captured memory until the close or after it
  // (multifile/deferred/deferred_close), if every physical file belongs to one host, and one process alone
  // has one file. Call after the open. Collective.
  void capture_frames(FrameCapture capture);
  bool captures_frames() const { return set_.compressed && set_.compressed->captures(); }

  // Closes the multifile. Collective. Throws on every process alike, also after a failed append() on any
  // process. The object is closed in any case; after an error the files stay unclosed.
  void close() { close_set(*this); }
  // After a close in an asynchronous mode (OpenMode::is_async), returns what completes the files.
  DeferredCompletion take_deferred() {
    SHEAF_ASSERT(set_.deferred());
    return std::exchange(*set_.deferred(), {});
  }
  // Returns true if tasks of several hosts write the physical files of this process.
  bool shares_files_with_hosts() const { return set_.hosts.count > 1; }
  // Undoes the open instead of close(). Local; called on every process, before the first write. Removes the
  // files that the open created and leaves files opened for appending unchanged.
  void discard() { undo_open(set_); }

 private:
  friend class DeferredClose;
};

}  // namespace sheaf::multifile
