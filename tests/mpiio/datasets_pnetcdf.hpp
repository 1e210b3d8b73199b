// datasets_pnetcdf: a part of a variable with its memory, and the calls of PnetCDF that transfer it.
#pragma once

#include <pnetcdf.h>

#include "datasets.hpp"

namespace datasets {

using Offsets = std::vector<MPI_Offset>;

enum class CallMode { together, alone, later, buffered };  // _all, independent, i..., b...
enum class Form { vara, vars, varm, varn, flexible };
inline const char* name_of(CallMode mode) {
  static const char* const names[] = {"together", "alone", "nonblocking", "buffered"};
  return names[static_cast<int>(mode)];
}
inline const char* name_of(Form form) {
  static const char* const names[] = {"vara", "vars", "varm", "varn", "flexible vars"};
  return names[static_cast<int>(form)];
}

// Elements of a variable and their positions in memory. A VariablePart must exist until its nonblocking call
// has ended.
struct VariablePart {
  static constexpr int nothing = -7777;
  int variable = 0;  // of the case
  Form form = Form::vara;
  Offsets start, count, stride, map;
  std::vector<Offsets> starts, counts;  // for varn
  std::vector<uint64_t> elements;       // in the order of memory
  std::vector<size_t> places;           // positions of the elements
  std::vector<int> memory;
  MPI_Datatype type = MPI_DATATYPE_NULL;  // for the flexible calls

  VariablePart() = default;
  VariablePart(const VariablePart&) = delete;
  VariablePart(VariablePart&& other) = default;
  VariablePart& operator=(VariablePart&&) = delete;
  ~VariablePart() = default;
  void release() {
    if (type != MPI_DATATYPE_NULL) MPI_Type_free(&type);
  }

  std::string name() const {
    return std::string(name_of(form)) + " of " + std::to_string(elements.size()) + " elements";
  }
};

inline Offsets offsets(const Dims& dims) { return Offsets(dims.begin(), dims.end()); }

// Adds the elements that start, count and stride select, row by row.
inline void add_elements(VariablePart* part, const Dims& dims, const Offsets& start, const Offsets& count,
                         const Offsets& stride) {
  uint64_t all = 1;
  for (const MPI_Offset one : count) all *= static_cast<uint64_t>(one);
  const Dims counts(count.begin(), count.end());
  for (uint64_t i = 0; i < all; ++i) {
    Dims at = place_of(counts, i);
    for (size_t d = 0; d < at.size(); ++d)
      at[d] = static_cast<uint64_t>(start[d]) + at[d] * static_cast<uint64_t>(stride[d]);
    part->elements.push_back(index_of(dims, at));
  }
}

// Cuts a box into pieces, in any order. A piece of a record variable stays within one record, because varn in
// PnetCDF 1.12.3 transfers only the first of several records.
inline void cut_in_pieces(Random& random, const Dims& dims, bool record, VariablePart* part) {
  const auto along = record ? 0 : static_cast<size_t>(pick(random, 0, static_cast<int>(dims.size()) - 1));
  const Offsets ones(dims.size(), 1);
  for (MPI_Offset done = 0; done < part->count[along];) {
    const auto length =
        static_cast<MPI_Offset>(record ? 1 : pick(random, 1, static_cast<int>(part->count[along] - done)));
    if (!one_in(random, 4)) {
      part->starts.push_back(part->start);
      part->counts.push_back(part->count);
      part->starts.back()[along] += done;
      part->counts.back()[along] = length;
    }
    done += length;
  }
  std::vector<size_t> order(part->starts.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::shuffle(order.begin(), order.end(), random);
  const auto starts = part->starts, counts = part->counts;
  for (size_t i = 0; i < order.size(); ++i) {
    part->starts[i] = starts[order[i]];
    part->counts[i] = counts[order[i]];
    add_elements(part, dims, part->starts[i], part->counts[i], ones);
  }
}

// Arranges memory in the order of the elements, as every third int, or with the first dimension fastest.
inline void lay_out_memory(VariablePart* part) {
  const size_t n = part->elements.size();
  const size_t step = part->form == Form::flexible ? 3 : 1;
  if (part->form == Form::flexible) {
    MPI_Type_vector(static_cast<int>(n), 1, 3, MPI_INT, &part->type);
    MPI_Type_commit(&part->type);
  }
  for (size_t i = 0; i < n; ++i) part->places.push_back(i * step);
  if (part->form == Form::varm) {
    MPI_Offset next = 1;
    const Dims counts(part->count.begin(), part->count.end());
    for (const MPI_Offset length : part->count) {
      part->map.push_back(next);
      next *= std::max<MPI_Offset>(length, 1);
    }
    for (size_t i = 0; i < n; ++i) {
      const Dims at = place_of(counts, i);
      part->places[i] = 0;
      for (size_t d = 0; d < at.size(); ++d) part->places[i] += at[d] * static_cast<size_t>(part->map[d]);
    }
  }
  part->memory.assign(n * step + 2, VariablePart::nothing);
}

// Returns a part of `dims` between the limits of the task, possibly without elements. All tasks or none use
// varn, because it is a different collective call from the other forms.
inline VariablePart some_part(Random& random, int variable, const Dims& dims, const Dims& low,
                              const Dims& high, const ArrayDistribution& distribution, int task, int tasks,
                              bool varn, bool record) {
  VariablePart part;
  part.variable = variable;
  static constexpr Form forms[] = {Form::vara, Form::vars, Form::varm, Form::flexible};
  part.form = varn ? Form::varn : forms[pick(random, 0, 3)];
  bool empty = one_in(random, 12);
  for (size_t d = 0; d < dims.size(); ++d) empty = empty || low[d] >= high[d];
  Slab slab{Dims(dims.size(), 0), Dims(dims.size(), 1), Dims(dims.size(), 0), Dims(dims.size(), 1)};
  if (!empty) {
    slab = some_slab(random, low, high, 1);
    if (distribution.turn > 0) empty = !distribution.take_turns(dims, task, tasks, &slab);
    for (size_t d = 0; d < dims.size(); ++d) {
      if (slab.block[d] == 1) continue;  // selects the whole dimension
      slab.count[d] = std::exchange(slab.block[d], 1);
      slab.stride[d] = 1;
    }
  }
  if (empty) slab.count.assign(dims.size(), 0);
  if (varn) slab.stride.assign(dims.size(), 1);
  part.start = offsets(slab.start);
  part.count = offsets(slab.count);
  part.stride = offsets(slab.stride);
  if (empty) part.start.assign(dims.size(), 0);
  bool gaps = false;
  for (size_t d = 0; d < dims.size(); ++d) gaps = gaps || (part.stride[d] > 1 && part.count[d] > 1);
  if (gaps && part.form == Form::vara) part.form = Form::vars;
  if (part.form == Form::varn && !empty)
    cut_in_pieces(random, dims, record, &part);
  else if (!empty)
    add_elements(&part, dims, part.start, part.count, part.stride);
  lay_out_memory(&part);
  return part;
}

// Each of the following functions returns an error code of PnetCDF, or NC_NOERR.

#define SHEAF_BY_MODE(put, iput, bput, form, ...)                                     \
  (mode == CallMode::together ? ncmpi_##put##_##form##_all(file, id, __VA_ARGS__)     \
   : mode == CallMode::alone  ? ncmpi_##put##_##form(file, id, __VA_ARGS__)           \
   : mode == CallMode::later  ? ncmpi_##iput##_##form(file, id, __VA_ARGS__, request) \
                              : ncmpi_##bput##_##form(file, id, __VA_ARGS__, request))

inline std::vector<MPI_Offset*> pointers(std::vector<Offsets>& rows) {
  std::vector<MPI_Offset*> result;
  for (Offsets& row : rows) result.push_back(row.data());
  result.push_back(nullptr);
  return result;
}

inline int put(int file, int id, VariablePart& p, CallMode mode, int* request) {
  const auto starts = pointers(p.starts), counts = pointers(p.counts);
  const int n = static_cast<int>(p.starts.size());
  const int* const from = p.memory.data();
  switch (p.form) {
    case Form::vara:
      return SHEAF_BY_MODE(put, iput, bput, vara_int, p.start.data(), p.count.data(), from);
    case Form::vars:
      return SHEAF_BY_MODE(put, iput, bput, vars_int, p.start.data(), p.count.data(), p.stride.data(), from);
    case Form::varm:
      return SHEAF_BY_MODE(put, iput, bput, varm_int, p.start.data(), p.count.data(), p.stride.data(),
                           p.map.data(), from);
    case Form::varn:
      return SHEAF_BY_MODE(put, iput, bput, varn_int, n, starts.data(), counts.data(), from);
    default:
      return SHEAF_BY_MODE(put, iput, bput, vars, p.start.data(), p.count.data(), p.stride.data(), from, 1,
                           p.type);
  }
}

// Treats mode `buffered` like `later`, because PnetCDF has no buffered reading.
inline int get(int file, int id, VariablePart& p, CallMode mode, int* request) {
  const auto starts = pointers(p.starts), counts = pointers(p.counts);
  const int n = static_cast<int>(p.starts.size());
  int* const to = p.memory.data();
  switch (p.form) {
    case Form::vara:
      return SHEAF_BY_MODE(get, iget, iget, vara_int, p.start.data(), p.count.data(), to);
    case Form::vars:
      return SHEAF_BY_MODE(get, iget, iget, vars_int, p.start.data(), p.count.data(), p.stride.data(), to);
    case Form::varm:
      return SHEAF_BY_MODE(get, iget, iget, varm_int, p.start.data(), p.count.data(), p.stride.data(),
                           p.map.data(), to);
    case Form::varn:
      return SHEAF_BY_MODE(get, iget, iget, varn_int, n, starts.data(), counts.data(), to);
    default:
      return SHEAF_BY_MODE(get, iget, iget, vars, p.start.data(), p.count.data(), p.stride.data(), to, 1,
                           p.type);
  }
}

#undef SHEAF_BY_MODE

}  // namespace datasets
