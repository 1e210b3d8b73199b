// The external32 representation: big-endian, IEEE numbers, fixed sizes (MPI 3.1, section 13.5.2).
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <optional>
#include <utility>

#include "mpiio/api/datatype/datarep.hpp"
#include "mpiio/api/datatype/datatypes.hpp"
#include "mpiio/api/errors.hpp"

namespace sheaf::mpiio {
namespace {

// How a number is converted.
// - bytes: the byte order is reversed.
// - signed_integer, unsigned_integer: the size of an integer may change as well.
// - extended: long double is also converted to IEEE quadruple precision, or back.
enum class NumberKind : uint8_t { bytes, signed_integer, unsigned_integer, extended };
// One number of a predefined type, with its sizes.
struct Atom {
  NumberKind kind = NumberKind::bytes;
  int64_t native = 1;    // bytes in memory
  int64_t external = 1;  // bytes in the file
};
// The numbers of a predefined type: two for complex types and for pairs such as MPI_FLOAT_INT, otherwise one.
struct Atoms {
  Atom first;
  Atom second = {NumberKind::bytes, 0, 0};

  int64_t external() const { return first.external + second.external; }
  bool is_byte() const { return first.native == 1 && external() == 1; }
};

constexpr Atom extended = {NumberKind::extended, sizeof(long double), 16};

Atom plain(int64_t size) { return {NumberKind::bytes, size, size}; }  // only the byte order changes

Atoms atoms_of(MPI_Datatype leaf) {
  MPI_Count bytes = 0;
  PMPI_Type_size_x(leaf, &bytes);
  const int64_t size = bytes;
  const auto number = [&](int64_t external, NumberKind kind = NumberKind::unsigned_integer) {
    return Atom{kind, size, external};
  };
  const std::pair<MPI_Datatype, Atom> numbers[] = {{MPI_LONG, number(4, NumberKind::signed_integer)},
                                                   {MPI_UNSIGNED_LONG, number(4)},
                                                   {MPI_WCHAR, number(2)},
                                                   {MPI_C_BOOL, number(4)},
                                                   {MPI_CXX_BOOL, number(4)},
                                                   {MPI_AINT, number(8, NumberKind::signed_integer)},
                                                   {MPI_OFFSET, number(8, NumberKind::signed_integer)},
                                                   {MPI_COUNT, number(8, NumberKind::signed_integer)},
                                                   {MPI_LONG_DOUBLE, extended}};
  for (const auto& [type, atom] : numbers)
    if (leaf == type) return {atom};
  if (leaf == MPI_C_LONG_DOUBLE_COMPLEX || leaf == MPI_CXX_LONG_DOUBLE_COMPLEX) return {extended, extended};
  for (MPI_Datatype const complex :
       {MPI_C_COMPLEX, MPI_C_FLOAT_COMPLEX, MPI_C_DOUBLE_COMPLEX, MPI_COMPLEX, MPI_DOUBLE_COMPLEX,
        MPI_CXX_FLOAT_COMPLEX, MPI_CXX_DOUBLE_COMPLEX, MPI_2INT, MPI_2INTEGER, MPI_2REAL,
        MPI_2DOUBLE_PRECISION, MPI_COMPLEX8, MPI_COMPLEX16})
    if (leaf == complex) return {plain(size / 2), plain(size / 2)};
  const Atom index = plain(sizeof(int));
  if (leaf == MPI_LONG_INT) return {{NumberKind::signed_integer, sizeof(long), 4}, index};
  if (leaf == MPI_LONG_DOUBLE_INT) return {extended, index};
  for (MPI_Datatype const pair : {MPI_FLOAT_INT, MPI_DOUBLE_INT, MPI_SHORT_INT})
    if (leaf == pair) return {plain(size - index.native), index};
  int integers = 0, places = 0, types = 0, combiner = MPI_COMBINER_NAMED;
  PMPI_Type_get_envelope(leaf, &integers, &places, &types, &combiner);
  if (combiner == MPI_COMBINER_F90_COMPLEX) return {plain(size / 2), plain(size / 2)};
  return {plain(size)};
}

void reverse_copy(const std::byte* from, int64_t bytes, std::byte* to) {
  std::reverse_copy(from, from + bytes, to);
}

static_assert(std::endian::native == std::endian::little, "byte orders are reversed here");

// Converts between integers of different sizes. Throws if the value does not fit.
void convert_integer(bool is_signed, const std::byte* from, int64_t from_size, std::byte* to,
                     int64_t to_size) {
  int64_t value = 0;
  std::memcpy(&value, from, static_cast<size_t>(from_size));
  if (is_signed && from_size < 8) {
    const int shift = static_cast<int>(64 - 8 * from_size);
    value = static_cast<int64_t>(static_cast<uint64_t>(value) << shift) >> shift;
  }
  const int64_t bits = 8 * to_size;
  const bool fits =
      bits >= 64 || (is_signed ? value >= -(int64_t{1} << (bits - 1)) && value < int64_t{1} << (bits - 1)
                               : static_cast<uint64_t>(value) >> bits == 0);
  if (!fits)
    throw MpiError(MPI_ERR_CONVERSION, "external32 has " + std::to_string(to_size) +
                                           " bytes for an integer, too few for " + std::to_string(value));
  std::memcpy(to, &value, static_cast<size_t>(to_size));
}

void atom_to_file(const Atom& atom, const std::byte* from, std::byte* to) {
  std::array<std::byte, 16> changed;
  if (atom.kind == NumberKind::bytes) return reverse_copy(from, atom.external, to);
  if (atom.kind == NumberKind::extended) {
    long double value = 0;
    std::memcpy(&value, from, sizeof value);
    const auto quad = static_cast<__float128>(value);
    std::memcpy(changed.data(), &quad, sizeof quad);
  } else {
    convert_integer(atom.kind == NumberKind::signed_integer, from, atom.native, changed.data(),
                    atom.external);
  }
  reverse_copy(changed.data(), atom.external, to);
}

void atom_from_file(const Atom& atom, const std::byte* from, std::byte* to) {
  std::array<std::byte, 16> changed;
  if (atom.kind == NumberKind::bytes) return reverse_copy(from, atom.external, to);
  reverse_copy(from, atom.external, changed.data());
  if (atom.kind == NumberKind::extended) {
    __float128 quad = 0;
    std::memcpy(&quad, changed.data(), sizeof quad);
    const auto value = static_cast<long double>(quad);
    std::memset(to, 0, sizeof value);
    std::memcpy(to, &value, 10);  // the x87 extended format has 10 significant bytes
    return;
  }
  convert_integer(atom.kind == NumberKind::signed_integer, changed.data(), atom.external, to, atom.native);
}

// Direction of a conversion: a function that converts a number, and the sizes of the number before and after.
struct Conversion {
  void (*convert)(const Atom& atom, const std::byte* from, std::byte* to);
  int64_t Atom::*size_before;
  int64_t Atom::*size_after;
};
constexpr Conversion to_external{atom_to_file, &Atom::native, &Atom::external};
constexpr Conversion from_external{atom_from_file, &Atom::external, &Atom::native};

// Converts instances of a datatype from `from` to `to`, one predefined type after the other.
struct External32Converter {
  const std::byte* from;
  std::byte* to;
  int64_t left;  // remaining bytes in file representation; an incomplete type at the end is ignored
  const Conversion& how;

  void leaf(MPI_Datatype type, int64_t count) {
    const Atoms atoms = atoms_of(type);
    count = std::min(count, left / std::max<int64_t>(1, atoms.external()));
    left -= count * atoms.external();
    if (atoms.is_byte()) {
      std::memcpy(to, from, static_cast<size_t>(count));
      from += count;
      to += count;
      return;
    }
    for (int64_t i = 0; i < count; ++i) {
      one(atoms.first);
      if (atoms.second.external > 0) one(atoms.second);
    }
  }

  void one(const Atom& atom) {
    how.convert(atom, from, to);
    from += atom.*how.size_before;
    to += atom.*how.size_after;
  }

  void instances(MPI_Datatype type, int64_t count) {
    const Signature signature = signature_of(type);
    for (int64_t i = 0; i < count && left > 0; ++i) item(signature);
  }

  void item(const Signature& item) {
    if (item.parts.empty()) {
      if (item.leaf != MPI_DATATYPE_NULL) leaf(item.leaf, item.count);
      return;
    }
    for (int64_t i = 0; i < item.count && left > 0; ++i)
      for (const Signature& part : item.parts) this->item(part);
  }
};

class External32 final : public Datarep {
 public:
  layout::TypeMap in_file(MPI_Datatype type) const override {
    return type_map_with(type,
                         [](MPI_Datatype leaf) { return layout::TypeMap::bytes(atoms_of(leaf).external()); });
  }

  std::vector<std::byte> to_file(const void* user, MPI_Datatype type, int64_t count) const override {
    const layout::TypeMap memory = type_map(type);
    std::vector<std::byte> native(static_cast<size_t>(count * memory.size()));
    pack(user, memory, native);
    std::vector<std::byte> result(static_cast<size_t>(count * in_file(type).size()));
    External32Converter walk{native.data(), result.data(), std::ssize(result), to_external};
    walk.instances(type, count);
    return result;
  }

  int64_t from_file(std::span<const std::byte> bytes, void* user, MPI_Datatype type,
                    int64_t count) const override {
    const layout::TypeMap memory = type_map(type);
    std::vector<std::byte> native(static_cast<size_t>(count * memory.size()));
    External32Converter walk{bytes.data(), native.data(), std::ssize(bytes), from_external};
    walk.instances(type, count);
    const int64_t filled = walk.to - native.data();
    unpack(std::span(native).first(static_cast<size_t>(filled)), user, memory);
    return filled;
  }
};

}  // namespace

std::shared_ptr<const Datarep> make_external32() { return std::make_shared<External32>(); }

}  // namespace sheaf::mpiio
