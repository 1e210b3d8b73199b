// datasets_hdf5: a dataset of HDF5 with its expected contents, and selections that both HDF5 and the model
// know.
#pragma once

#include <hdf5.h>

#include <array>
#include <utility>

#include "datasets.hpp"

namespace datasets {

// Elements in memory, and their possible types in files. Values are small: no conversion loses data.
struct ElementType {
  const char* name;
  hid_t memory, native, other;  // the element type in memory and in the file; another byte order or width
  size_t size;
};

inline std::array<ElementType, 8> element_types() {
  return {{{"schar", H5T_NATIVE_SCHAR, H5T_NATIVE_SCHAR, H5T_STD_I16BE, 1},
           {"short", H5T_NATIVE_SHORT, H5T_NATIVE_SHORT, H5T_STD_I16BE, 2},
           {"int", H5T_NATIVE_INT, H5T_NATIVE_INT, H5T_STD_I32BE, 4},
           {"int", H5T_NATIVE_INT, H5T_NATIVE_INT, H5T_STD_I8LE, 4},
           {"llong", H5T_NATIVE_LLONG, H5T_NATIVE_LLONG, H5T_STD_U16LE, 8},
           {"float", H5T_NATIVE_FLOAT, H5T_NATIVE_FLOAT, H5T_IEEE_F64BE, 4},
           {"double", H5T_NATIVE_DOUBLE, H5T_NATIVE_DOUBLE, H5T_IEEE_F32LE, 8},
           {"double", H5T_NATIVE_DOUBLE, H5T_NATIVE_DOUBLE, H5T_IEEE_F64BE, 8}}};
}

template <class T>
void put_as(void* where, int value) {
  *static_cast<T*>(where) = static_cast<T>(value);
}

inline void put(const ElementType& type, void* where, int value) {
  if (type.memory == H5T_NATIVE_SCHAR) return put_as<signed char>(where, value);
  if (type.memory == H5T_NATIVE_SHORT) return put_as<short>(where, value);
  if (type.memory == H5T_NATIVE_INT) return put_as<int>(where, value);
  if (type.memory == H5T_NATIVE_LLONG) return put_as<long long>(where, value);
  if (type.memory == H5T_NATIVE_FLOAT) return put_as<float>(where, value);
  put_as<double>(where, value);
}

inline int get(const ElementType& type, const void* where) {
  if (type.memory == H5T_NATIVE_SCHAR) return *static_cast<const signed char*>(where);
  if (type.memory == H5T_NATIVE_SHORT) return *static_cast<const short*>(where);
  if (type.memory == H5T_NATIVE_INT) return *static_cast<const int*>(where);
  if (type.memory == H5T_NATIVE_LLONG) return static_cast<int>(*static_cast<const long long*>(where));
  if (type.memory == H5T_NATIVE_FLOAT) return static_cast<int>(*static_cast<const float*>(where));
  return static_cast<int>(*static_cast<const double*>(where));
}

inline const hsize_t* as_hsize(const Dims& dims) {
  static_assert(sizeof(hsize_t) == sizeof(uint64_t));
  return reinterpret_cast<const hsize_t*>(dims.data());
}

// Elements of a dataset in the order in which HDF5 transfers them.
struct Selection {
  hid_t space = -1;
  std::vector<uint64_t> elements;
  std::string name;

  Selection(const Dims& dims)
      : space(H5Screate_simple(static_cast<int>(dims.size()), as_hsize(dims), nullptr)) {}
  Selection(const Selection&) = delete;
  Selection(Selection&& other) noexcept
      : space(std::exchange(other.space, -1)),
        elements(std::move(other.elements)),
        name(std::move(other.name)) {}
  ~Selection() {
    if (space >= 0) H5Sclose(space);
  }

  void none() {
    H5Sselect_none(space);
    elements.clear();
    name = "none";
  }
};

inline bool combined(H5S_seloper_t how, bool before, bool in_slab) {
  switch (how) {
    case H5S_SELECT_OR:
      return before || in_slab;
    case H5S_SELECT_AND:
      return before && in_slab;
    case H5S_SELECT_NOTB:
      return before && !in_slab;
    default:
      return in_slab;
  }
}

inline herr_t note_place(void*, hid_t, unsigned rank, const hsize_t* at, void* places) {
  static_cast<std::vector<Dims>*>(places)->emplace_back(at, at + rank);
  return 0;
}

// Returns whether HDF5 visits the expected elements. For joined slabs, 1.10.8 sometimes visits other
// elements, even in one task, or reports them as out of range.
inline bool understood(const Selection& selection, const Dims& dims) {
  if (selection.elements.empty()) return H5Sget_select_npoints(selection.space) == 0;
  if (H5Sselect_valid(selection.space) <= 0) return false;
  std::vector<char> bytes(volume(dims));
  std::vector<Dims> places;
  if (H5Diterate(bytes.data(), H5T_NATIVE_SCHAR, selection.space, note_place, &places) < 0) return false;
  if (places.size() != selection.elements.size()) return false;
  for (size_t i = 0; i < places.size(); ++i)
    if (index_of(dims, places[i]) != selection.elements[i]) return false;
  return true;
}

// Returns whether HDF5 can distribute the selection over the chunks of a dataset. Tested with a dataset in
// memory, since 1.10.8 sometimes finds the same chunk twice in joined slabs.
inline bool spreads(const Selection& selection, const Dims& dims, const Dims& chunk) {
  if (chunk.empty() || selection.elements.empty()) return true;
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  H5Pset_fapl_core(access, 1 << 16, 0);
  const hid_t file = H5Fcreate("spreads", H5F_ACC_TRUNC, H5P_DEFAULT, access);
  const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_chunk(properties, static_cast<int>(chunk.size()), as_hsize(chunk));
  const hid_t space = H5Screate_simple(static_cast<int>(dims.size()), as_hsize(dims), nullptr);
  const hid_t set = H5Dcreate(file, "set", H5T_NATIVE_SCHAR, space, H5P_DEFAULT, properties, H5P_DEFAULT);
  const hsize_t n = selection.elements.size();
  const hid_t memory = H5Screate_simple(1, &n, nullptr);
  const std::vector<char> bytes(n, 1);
  herr_t written = -1;
  H5E_BEGIN_TRY {
    written = H5Dwrite(set, H5T_NATIVE_SCHAR, memory, selection.space, H5P_DEFAULT, bytes.data());
  }
  H5E_END_TRY;
  H5Sclose(memory);
  H5Dclose(set);
  H5Sclose(space);
  H5Pclose(properties);
  H5Fclose(file);
  H5Pclose(access);
  return written >= 0;
}

// Returns one slab, or several joined ones, between `low` and `high`. If the tasks take turns, the first slab
// is one of the task's turns.
inline Selection some_slabs(Random& random, const Dims& dims, const ArrayDistribution& distribution, int task,
                            int tasks) {
  Selection result(dims);
  std::vector<char> taken(volume(dims), 0);
  Dims low;
  Dims high;
  distribution.box(dims, task, &low, &high);
  for (size_t d = 0; d < dims.size(); ++d)
    if (low[d] == high[d]) return result.none(), std::move(result);
  const int several = distribution.turn == 0 && one_in(random, 3) ? pick(random, 2, 4) : 1;
  for (int s = 0; s < several; ++s) {
    // XOR is omitted: HDF5 1.10.8 describes its results to MPI as overlapping if they are joined once more.
    static constexpr H5S_seloper_t ways[] = {H5S_SELECT_OR, H5S_SELECT_OR, H5S_SELECT_NOTB, H5S_SELECT_AND};
    const H5S_seloper_t how = s == 0 ? H5S_SELECT_SET : ways[pick(random, 0, 3)];
    Slab slab = some_slab(random, low, high, 5);
    if (distribution.turn > 0 && !distribution.take_turns(dims, task, tasks, &slab))
      return result.none(), std::move(result);
    if (several > 1)
      slab.count.assign(dims.size(), 1);  // HDF5 1.10.8 fails more often when it joins rows of blocks
    H5Sselect_hyperslab(result.space, how, as_hsize(slab.start), as_hsize(slab.stride), as_hsize(slab.count),
                        as_hsize(slab.block));
    for (uint64_t i = 0; i < taken.size(); ++i)
      taken[i] = combined(how, taken[i], slab.has(place_of(dims, i)));
    result.name += " " + std::to_string(how) + ":" + text(slab);
  }
  for (uint64_t i = 0; i < taken.size(); ++i)
    if (taken[i]) result.elements.push_back(i);
  return result;
}

// Returns points in any order. Tasks select different points, by the remainder of the index.
inline Selection some_points(Random& random, const Dims& dims, int task, int tasks) {
  Selection result(dims);
  for (uint64_t i = static_cast<uint64_t>(task); i < volume(dims); i += static_cast<uint64_t>(tasks))
    if (one_in(random, 4)) result.elements.push_back(i);
  std::shuffle(result.elements.begin(), result.elements.end(), random);
  if (result.elements.size() > 200) result.elements.resize(200);
  if (result.elements.empty()) return result.none(), std::move(result);
  std::vector<hsize_t> places;
  for (const uint64_t index : result.elements)
    for (const uint64_t at : place_of(dims, index)) places.push_back(at);
  H5Sselect_elements(result.space, H5S_SELECT_SET, result.elements.size(), places.data());
  result.name = std::to_string(result.elements.size()) + " points";
  return result;
}

enum class SelectionKind { slabs, points };

// `chunk` is the chunk of the dataset, or empty if the dataset has none.
inline Selection some_selection(Random& random, SelectionKind kind, const Dims& dims, const Dims& chunk,
                                const ArrayDistribution& distribution, int task, int tasks) {
  if (kind == SelectionKind::points) return some_points(random, dims, task, tasks);
  Selection result = some_slabs(random, dims, distribution, task, tasks);
  if (one_in(random, 10) || !understood(result, dims) || !spreads(result, dims, chunk)) result.none();
  return result;
}

// Memory of a transfer of `elements` elements: a row, every third one of a row, or a column of a table.
struct DataspaceMemory {
  hid_t space = -1;
  std::vector<char> bytes;
  size_t first = 0, step = 1;  // positions of the elements, in elements

  DataspaceMemory(Random& random, size_t elements, size_t size) {
    const int kind = pick(random, 0, 2);
    const hsize_t n = elements;
    if (kind == 0) {
      const hsize_t room = n + 1;
      space = H5Screate_simple(1, &room, nullptr);
      const hsize_t start = 1;
      if (n > 0) H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, nullptr, &n, nullptr);
      first = 1;
    } else if (kind == 1) {
      const hsize_t room = 3 * n + 2, start = 2, stride = 3;
      space = H5Screate_simple(1, &room, nullptr);
      if (n > 0) H5Sselect_hyperslab(space, H5S_SELECT_SET, &start, &stride, &n, nullptr);
      first = 2;
      step = 3;
    } else {
      const hsize_t room[2] = {n + 1, 4}, start[2] = {0, 3}, count[2] = {n, 1};
      space = H5Screate_simple(2, room, nullptr);
      if (n > 0) H5Sselect_hyperslab(space, H5S_SELECT_SET, start, nullptr, count, nullptr);
      first = 3;
      step = 4;
    }
    if (n == 0) H5Sselect_none(space);
    bytes.assign((first + step * (elements + 1) + 4) * size, 0x55);
  }
  DataspaceMemory(const DataspaceMemory&) = delete;
  ~DataspaceMemory() { H5Sclose(space); }
  size_t at(size_t element) const { return first + step * element; }
};

}  // namespace datasets
