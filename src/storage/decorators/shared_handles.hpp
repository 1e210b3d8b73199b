// storage/decorators/shared_handles: lets tasks in one process (threads, fibers) that open the same path
// share one open file. A physical file then costs one descriptor per process, and opens after the first cost
// no memory.
#pragma once

#include <memory>
#include <string>

#include "storage/decorators/forwarding_store.hpp"

namespace sheaf {

// Decorator of a Store. If the canonical path (Store::place_of) is already open for the same kind of access,
// writing (write, create) or reading (read), open() returns the same File. Access::fresh always calls the
// inner store, which refuses an existing file. Each open must be matched by one File::close(). Only the last
// close() closes the file and reports the errors of the operating system. Dropping the last shared_ptr closes
// an unclosed file silently.
//
// remove() and rename() drop the entries of the names that they change: existing holders keep their file, and
// the next open of the name calls the inner store. While a file is open, this object does not see that
// another process, or a direct call of the inner store, renames or removes it.
//
// Any thread may call the functions; opens are serialized. Files may outlive this object. They may outlive
// `inner` only if the files of `inner` itself may.
class SharedHandles final : public ForwardingStore {
 public:
  explicit SharedHandles(Store& inner);  // must outlive this object
  // Also shares the files that are open through `beside`, which need not outlive this object.
  SharedHandles(std::shared_ptr<Store> inner, const SharedHandles& beside);

  std::shared_ptr<File> open(const std::string& path, Access access) override;
  void remove(const std::string& path) override;
  void rename(const std::string& from, const std::string& to) override;

  // Returns the number of files of the inner store that are open through this object.
  size_t open_files() const;

  class SharedHandleTable;  // private to the implementation
  class SharedFileHandle;   // private to the implementation

 private:
  const std::shared_ptr<Store> kept_;  // null: the caller owns the inner store
  const std::shared_ptr<SharedHandleTable> table_;
};

}  // namespace sheaf
