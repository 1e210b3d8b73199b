#include "mpiio/file/file_access.hpp"

#include <type_traits>
#include <utility>

#include "base/checked.hpp"
#include "base/error.hpp"

namespace sheaf::mpiio {

void require_position(int64_t position) {
  if (position < 0)
    throw Error(Code::invalid_argument,
                "a position of " + std::to_string(position) + " lies before the file");
}

void require_usable(const View& view, Overlap overlap) {
  require_position(view.displacement);
  const auto refuse = [](const std::string& why) { throw Error(Code::invalid_argument, "a view " + why); };
  if (view.etype_size <= 0) refuse("with an elementary type without data");
  if (view.filetype.size() <= 0) refuse("with a file type without data");
  if (view.filetype.size() % view.etype_size != 0)
    refuse("whose file type is no multiple of its elementary type");
  if (!view.filetype.rises(overlap == Overlap::allowed))
    refuse("whose file type goes back, overlaps itself or begins before 0");
}

template <class Byte>
exchange::FileAccess access_to(const View& view, int64_t position, const MemoryOf<Byte>& memory,
                               const std::string& path) {
  exchange::FileAccess access{
      .displacement = view.displacement,
      .filetype = &view.filetype,
      .from = position,
      .to = must_fit(checked_mul_add(memory.count, memory.type.size(), position), "a transfer"),
      .address = const_cast<std::byte*>(memory.address),
      .memory = &memory.type};
  if (access.bytes() > 0)
    must_fit(checked_mul_add(access.to / view.filetype.size() + 1, view.filetype.set_apart().extent(),
                             view.displacement),
             "the end of a transfer");
  return in_order(std::move(access), std::is_const_v<Byte> ? Overlap::refused : Overlap::allowed, path);
}

template exchange::FileAccess access_to(const View&, int64_t, const Source&, const std::string&);
template exchange::FileAccess access_to(const View&, int64_t, const Destination&, const std::string&);

}  // namespace sheaf::mpiio
