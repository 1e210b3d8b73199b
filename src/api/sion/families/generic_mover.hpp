// api/sion/families/generic_mover: the callbacks of the generic interface that move the data of collective
// calls.
#pragma once

#include <memory>
#include <optional>

#include "api/sion/families/generic_api.hpp"
#include "base/error.hpp"
#include "base/non_copyable.hpp"
#include "collective/collective_group.hpp"
#include "collective/mover.hpp"

namespace sheaf::api {

class GenericMover final : public Mover, private NonCopyable {
 public:
  // `group`: the program's, of the tasks of the physical file; it outlives the object.
  GenericMover(const GenericApi& api, void* group) : api_(api), group_(group) {}
  ~GenericMover() override;

  // From now on the callbacks get this handle and block size (bytes).
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
  // While a callback runs:
  const Write* write_ = nullptr;
  const Read* read_ = nullptr;
  std::optional<Error> problem_;
};

// What `api` offers for collective calls on a file whose tasks are `local`, the program's group of them;
// `all`: the group of the open. Asks for the capability of this task. No mover unless all three callbacks are
// there.
CollectiveMeans generic_means(const GenericApi& api, void* all, void* local,
                              std::shared_ptr<GenericMover>& mover);

}  // namespace sheaf::api
