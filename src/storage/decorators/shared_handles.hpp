// storage/decorators/shared_handles: tasks that live in one process (threads, fibers) and open the same path
// share one open file, so that a physical file costs one descriptor per process and an open costs no memory
// after the first.
#pragma once

#include <memory>
#include <string>

#include "storage/decorators/forwarding_store.hpp"

namespace sheaf {

// Decorator of a Store. Opening a path that stands for a place (Store::place_of) that is open here already,
// for writing (write, create) or for reading (read), returns the same File; `fresh` always asks the inner
// store, which refuses a file that exists. Every open is to be matched by one File::close(): only the last
// one closes, and reports what the operating system says then. Dropping the last shared_ptr closes silently
// whatever was not closed.
//
// remove() and rename() forget the names they change: those who have the file open keep it, the next open
// opens anew. Changes that others make to names (another process, the inner store itself) are not seen while
// a file is open.
//
// Safe for use from several threads. Opens happen one at a time. Files may outlive this object, but not an
// `inner` that their own store does not let them outlive.
class SharedHandles final : public ForwardingStore {
 public:
  explicit SharedHandles(Store& inner);  // which must outlive this object
  // Shares the files that are open through `beside` too, which may go.
  SharedHandles(std::shared_ptr<Store> inner, const SharedHandles& beside);

  std::shared_ptr<File> open(const std::string& path, Access access) override;
  void remove(const std::string& path) override;
  void rename(const std::string& from, const std::string& to) override;

  // Files of the inner store that are open through this object.
  size_t open_files() const;

  class Table;   // private to the implementation
  class Handle;  // as well

 private:
  const std::shared_ptr<Store> kept_;  // null: the caller keeps it
  const std::shared_ptr<Table> table_;
};

}  // namespace sheaf
