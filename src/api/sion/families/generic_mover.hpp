// api/sion/families/generic_mover: moves the data of collective calls through callbacks of the generic
// interface.
#pragma once

#include <memory>
#include <optional>

#include "api/sion/families/generic_api.hpp"
#include "base/error.hpp"
#include "base/non_copyable.hpp"
#include "multifile/collective/collective_group.hpp"
#include "multifile/collective/mover.hpp"

namespace sheaf::api {

class GenericMover final : public multifile::Mover, private NonCopyable {
 public:
  // `group` is the program's group of the tasks of the physical file. It must outlive the object.
  GenericMover(const GenericApi& api, void* group) : api_(api), group_(group) {}
  ~GenericMover() override;

  // Sets the handle and the block size in bytes that later callbacks receive.
  void serve(int sid, int64_t fsblksize);

  void gather(std::span<const std::byte> data, int64_t offset, const Members& members,
              const Write& write) override;
  void scatter(std::span<std::byte> data, int64_t offset, const Members& members, const Read& read) override;

 private:
  static int write_piece(const void* data, sion_int64* spec, int sid);
  static int read_piece(void* data, sion_int64* spec, int sid);
  template <class Pointer, class Execute>
  int run(const Execute* execute, Pointer data, const sion_int64* spec);
  void finish(const char* callback, int result);

  const GenericApi api_;
  void* const group_;
  int sid_ = -1;
  int64_t fsblksize_ = 0;
  // State during a callback:
  const Write* write_ = nullptr;
  const Read* read_ = nullptr;
  std::optional<Error> problem_;
};

// Returns the means that `api` provides for collective calls on a physical file. `local` is the program's
// group of the tasks of the file, `all` the group of the open. Returns no means unless all three callbacks
// are set. Otherwise asks the capability callback whether this task may collect, and creates a mover.
multifile::CollectiveMeans generic_means(const GenericApi& api, void* all, void* local,
                                         std::shared_ptr<GenericMover>& mover);

}  // namespace sheaf::api
