/* The shapes of views: one row for each kind of datatype, made of units of any type. See views.h. */
#include "views.h"

#define SHAPE(name) static MPI_Datatype name(MPI_Datatype unit, int who, int among)
#define UNUSED (void)who, (void)among
#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

static MPI_Datatype indexed(int n, const int* lengths, const int* places, MPI_Datatype unit) {
  MPI_Datatype made;
  MPI_Type_indexed(n, lengths, places, unit, &made);
  return made;
}

/* Like MPI_Type_indexed, but with displacements in bytes: places are in units. */
static MPI_Datatype hindexed(int n, const int* lengths, const int* places, MPI_Datatype unit) {
  MPI_Datatype made;
  MPI_Aint bytes[8];
  for (int i = 0; i < n; ++i) bytes[i] = places[i] * extent_of(unit);
  MPI_Type_create_hindexed(n, lengths, bytes, unit, &made);
  return made;
}

SHAPE(named) {
  UNUSED;
  MPI_Datatype made;
  MPI_Type_dup(unit, &made);
  return made;
}
SHAPE(dup_of_dup) {
  MPI_Datatype once = named(unit, who, among), made;
  MPI_Type_dup(once, &made);
  MPI_Type_free(&once);
  return made;
}
SHAPE(contiguous) {
  UNUSED;
  MPI_Datatype made;
  MPI_Type_contiguous(5, unit, &made);
  return made;
}
SHAPE(vector) {
  UNUSED;
  MPI_Datatype made;
  MPI_Type_vector(4, 2, 5, unit, &made);
  return made;
}
SHAPE(vector_without_gaps) {
  UNUSED;
  MPI_Datatype made;
  MPI_Type_vector(3, 2, 2, unit, &made);
  return made;
}
SHAPE(vector_of_one_block) {
  UNUSED;
  MPI_Datatype made;
  MPI_Type_vector(1, 3, 100, unit, &made);
  return made;
}
SHAPE(hvector) {
  UNUSED;
  MPI_Datatype made;
  MPI_Type_create_hvector(3, 2, 3 * extent_of(unit), unit, &made);
  return made;
}
SHAPE(hvector_odd) { /* a stride that is no multiple of the unit */
  UNUSED;
  MPI_Datatype made;
  MPI_Type_create_hvector(3, 1, extent_of(unit) + 1, unit, &made);
  return made;
}
static const int three_lengths[] = {2, 1, 3}, three_places[] = {0, 4, 6};
static const int hole_lengths[] = {0, 2, 0, 1, 0}, hole_places[] = {9, 1, 5, 6, 0};
SHAPE(indexed_blocks) {
  UNUSED;
  return indexed(3, three_lengths, three_places, unit);
}
SHAPE(hindexed_blocks) {
  UNUSED;
  return hindexed(3, three_lengths, three_places, unit);
}
SHAPE(indexed_empty_blocks) {
  UNUSED;
  return indexed(5, hole_lengths, hole_places, unit);
}
SHAPE(hindexed_empty_blocks) {
  UNUSED;
  return hindexed(5, hole_lengths, hole_places, unit);
}
SHAPE(indexed_touching) { /* adjacent blocks */
  UNUSED;
  return indexed(3, (int[]){1, 2, 1}, (int[]){1, 2, 4}, unit);
}
SHAPE(indexed_block) {
  UNUSED;
  MPI_Datatype made;
  MPI_Type_create_indexed_block(3, 2, (int[]){1, 3, 7}, unit, &made);
  return made;
}
SHAPE(hindexed_block) {
  UNUSED;
  MPI_Datatype made;
  const MPI_Aint one = extent_of(unit), places[] = {0, 3 * one, 5 * one};
  MPI_Type_create_hindexed_block(3, 2, places, unit, &made);
  return made;
}

/* Creates a structure of blocks of `types` at `places`, in units. Frees no type. */
static MPI_Datatype structure(int n, const int* lengths, const int* places, const MPI_Datatype* types,
                              MPI_Aint one) {
  MPI_Datatype made;
  MPI_Aint bytes[8];
  for (int i = 0; i < n; ++i) bytes[i] = places[i] * one;
  MPI_Type_create_struct(n, lengths, bytes, types, &made);
  return resized(made, 0, (places[n - 1] + 4) * one);
}
SHAPE(structure_of_units) {
  UNUSED;
  return structure(3, three_lengths, three_places, (MPI_Datatype[]){unit, unit, unit}, extent_of(unit));
}
SHAPE(structure_of_types) {
  MPI_Datatype parts[] = {vector(unit, who, among), unit, contiguous(unit, who, among)};
  MPI_Datatype made = structure(3, (int[]){1, 2, 1}, (int[]){0, 17, 20}, parts, extent_of(unit));
  MPI_Type_free(&parts[0]);
  MPI_Type_free(&parts[2]);
  return resized(made, 0, 26 * extent_of(unit));
}
SHAPE(structure_empty_blocks) {
  UNUSED;
  MPI_Datatype made = structure(4, (int[]){0, 2, 0, 1}, (int[]){7, 0, 1, 3},
                                (MPI_Datatype[]){unit, unit, MPI_INT, unit}, extent_of(unit));
  return made;
}
/* A full chunk, a partly selected chunk with the extent of a full one, and a full chunk, as collective
 * HDF5 creates them. The extent depends on the MPI. */
SHAPE(structure_of_resized) {
  UNUSED;
  const MPI_Aint one = extent_of(unit);
  MPI_Datatype full, part, made;
  MPI_Type_contiguous(4, unit, &full);
  MPI_Type_contiguous(2, unit, &part);
  part = resized(part, 0, 4 * one);
  MPI_Type_create_struct(3, (int[]){1, 1, 1}, (MPI_Aint[]){0, 4 * one, 8 * one},
                         (MPI_Datatype[]){full, part, full}, &made);
  MPI_Type_free(&full);
  MPI_Type_free(&part);
  return made;
}
/* Header bytes followed by a part of an array, as PnetCDF creates them. */
SHAPE(structure_of_subarray) {
  UNUSED;
  const MPI_Aint one = extent_of(unit);
  MPI_Datatype part, made;
  MPI_Type_create_subarray(2, (int[]){3, 5}, (int[]){3, 3}, (int[]){0, 1}, MPI_ORDER_C, unit, &part);
  MPI_Type_create_struct(2, (int[]){4, 1}, (MPI_Aint[]){0, 4 * one}, (MPI_Datatype[]){unit, part}, &made);
  MPI_Type_free(&part);
  return resized(made, 0, 19 * one);
}

static MPI_Datatype subarray(int n, const int* sizes, const int* parts, const int* starts, int order,
                             MPI_Datatype unit) {
  MPI_Datatype made;
  MPI_Type_create_subarray(n, sizes, parts, starts, order, unit, &made);
  return made;
}
SHAPE(subarray_1) {
  UNUSED;
  return subarray(1, (int[]){9}, (int[]){4}, (int[]){3}, MPI_ORDER_C, unit);
}
SHAPE(subarray_3) {
  UNUSED;
  return subarray(3, (int[]){3, 4, 5}, (int[]){2, 3, 2}, (int[]){1, 0, 2}, MPI_ORDER_C, unit);
}
SHAPE(subarray_fortran) {
  UNUSED;
  return subarray(3, (int[]){3, 4, 2}, (int[]){2, 1, 2}, (int[]){1, 2, 0}, MPI_ORDER_FORTRAN, unit);
}
SHAPE(subarray_whole) {
  UNUSED;
  return subarray(2, (int[]){2, 3}, (int[]){2, 3}, (int[]){0, 0}, MPI_ORDER_C, unit);
}
SHAPE(columns) {
  return subarray(2, (int[]){3, 2 * among + 1}, (int[]){3, 2}, (int[]){0, 2 * who}, MPI_ORDER_C, unit);
}
SHAPE(rows_fortran) {
  return subarray(2, (int[]){3 * among, 3}, (int[]){2, 3}, (int[]){3 * who, 0}, MPI_ORDER_FORTRAN, unit);
}

static MPI_Datatype darray(int who, int among, int n, const int* sizes, const int* ways_,
                           const int* arguments, int order, MPI_Datatype unit) {
  MPI_Datatype made;
  int grid[3] = {0, 0, 0};
  for (int d = 0; d < n; ++d) grid[d] = ways_[d] == MPI_DISTRIBUTE_NONE;
  MPI_Dims_create(among, n, grid);
  MPI_Type_create_darray(among, who, n, sizes, ways_, arguments, grid, order, unit, &made);
  return made;
}
#define DEFAULT MPI_DISTRIBUTE_DFLT_DARG
SHAPE(darray_block) { /* the last has less or no data */
  return darray(who, among, 1, (int[]){9}, (int[]){MPI_DISTRIBUTE_BLOCK}, (int[]){DEFAULT}, MPI_ORDER_C,
                unit);
}
SHAPE(darray_block_argument) {
  return darray(who, among, 1, (int[]){13}, (int[]){MPI_DISTRIBUTE_BLOCK}, (int[]){13}, MPI_ORDER_C, unit);
}
SHAPE(darray_cyclic) {
  return darray(who, among, 1, (int[]){11}, (int[]){MPI_DISTRIBUTE_CYCLIC}, (int[]){2}, MPI_ORDER_C, unit);
}
SHAPE(darray_2) {
  return darray(who, among, 2, (int[]){5, 7}, (int[]){MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_BLOCK},
                (int[]){DEFAULT, DEFAULT}, MPI_ORDER_C, unit);
}
/* Intel MPI 2021.18 assigns some bytes of this shape to two tasks: with blocks in the first dimension and
 * cyclic(2) in the last, rows begin too early from the second one on. */
#ifndef I_MPI_VERSION
SHAPE(darray_3_fortran) {
  return darray(who, among, 3, (int[]){4, 3, 5},
                (int[]){MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_NONE, MPI_DISTRIBUTE_CYCLIC},
                (int[]){DEFAULT, DEFAULT, 2}, MPI_ORDER_FORTRAN, unit);
}
#endif

SHAPE(larger) { return resized(vector(unit, who, among), 0, 30 * extent_of(unit)); }
SHAPE(larger_odd) { return resized(vector(unit, who, among), 0, 30 * extent_of(unit) + 3); }
SHAPE(smaller_interleaved) { /* {0, 40}, {1, 41}, ...: from instance 40 on, bytes occur twice */
  UNUSED;
  return resized(indexed(2, (int[]){1, 1}, (int[]){0, 40}, unit), 0, extent_of(unit));
}
SHAPE(smaller_between) { /* instances begin in the gaps of previous ones, and no byte occurs twice */
  UNUSED;
  return resized(indexed(2, (int[]){2, 2}, (int[]){0, 6}, unit), 0, 4 * extent_of(unit));
}
SHAPE(negative_lower_bound) {
  return resized(vector(unit, who, among), -2 * extent_of(unit), 20 * extent_of(unit));
}
SHAPE(positive_lower_bound) {
  return resized(indexed_touching(unit, who, among), extent_of(unit), 6 * extent_of(unit));
}
SHAPE(begins_late) {
  UNUSED;
  return indexed(1, (int[]){2}, (int[]){6}, unit);
}

SHAPE(vector_of_vector) {
  MPI_Datatype inner = resized(vector(unit, who, among), 0, 18 * extent_of(unit)), made;
  MPI_Type_vector(2, 2, 3, inner, &made);
  MPI_Type_free(&inner);
  return made;
}
SHAPE(contiguous_of_interleaved) {
  MPI_Datatype inner = smaller_between(unit, who, among), made;
  MPI_Type_contiguous(1, inner, &made);
  MPI_Type_free(&inner);
  return made;
}
SHAPE(subarray_of_indexed) {
  MPI_Datatype inner = resized(indexed_blocks(unit, who, among), 0, 10 * extent_of(unit));
  MPI_Datatype made = subarray(2, (int[]){2, 3}, (int[]){2, 2}, (int[]){0, 1}, MPI_ORDER_C, inner);
  MPI_Type_free(&inner);
  return made;
}
SHAPE(darray_of_vector) {
  MPI_Datatype inner = resized(vector_without_gaps(unit, 0, 1), 0, 7 * extent_of(unit));
  MPI_Datatype made = darray_cyclic(inner, who, among);
  MPI_Type_free(&inner);
  return made;
}
SHAPE(six_levels) {
  MPI_Datatype a = contiguous(unit, who, among), b, c;
  a = resized(a, 0, 7 * extent_of(unit));
  MPI_Type_dup(a, &b);
  MPI_Type_free(&a);
  MPI_Type_create_hvector(2, 1, 8 * extent_of(unit), b, &c);
  MPI_Type_free(&b);
  a = indexed(2, (int[]){1, 1}, (int[]){0, 2}, c);
  MPI_Type_free(&c);
  return resized(a, 0, 60 * extent_of(unit));
}

/* Used in memory only. */
SHAPE(decreasing) {
  UNUSED;
  return indexed(3, (int[]){2, 1, 2}, (int[]){6, 3, 0}, unit);
}
SHAPE(negative_stride) {
  UNUSED;
  MPI_Datatype made;
  MPI_Type_vector(3, 1, -2, unit, &made);
  return made;
}
SHAPE(before_the_address) {
  UNUSED;
  return indexed(2, (int[]){2, 2}, (int[]){-3, 1}, unit);
}
SHAPE(byte_twice) {
  UNUSED;
  return indexed(2, (int[]){4, 4}, (int[]){0, 2}, unit);
}
SHAPE(same_unit_always) {
  UNUSED;
  return resized(indexed(1, (int[]){1}, (int[]){0}, unit), 0, 0);
}

enum { both = in_file | in_memory | as_source };
#define ROW(make, use) \
  { #make, make, use }
const struct shape shapes[] = {
    ROW(named, both),
    ROW(dup_of_dup, both),
    ROW(contiguous, both),
    ROW(vector, both),
    ROW(vector_without_gaps, both),
    ROW(vector_of_one_block, both),
    ROW(hvector, both),
    ROW(hvector_odd, both | apart_only),
    ROW(indexed_blocks, both),
    ROW(hindexed_blocks, both),
    ROW(indexed_empty_blocks, both),
    ROW(hindexed_empty_blocks, both),
    ROW(indexed_touching, both),
    ROW(indexed_block, both),
    ROW(hindexed_block, both),
    ROW(structure_of_units, both),
    ROW(structure_of_types, both),
    ROW(structure_empty_blocks, both),
    ROW(structure_of_resized, both),
    ROW(structure_of_subarray, both),
    ROW(subarray_1, both),
    ROW(subarray_3, both),
    ROW(subarray_fortran, both),
    ROW(subarray_whole, both),
    ROW(columns, both | dealt),
    ROW(rows_fortran, both | dealt),
    ROW(darray_block, both | dealt),
    ROW(darray_block_argument, both | dealt),
    ROW(darray_cyclic, both | dealt),
    ROW(darray_2, both | dealt),
#ifndef I_MPI_VERSION
    ROW(darray_3_fortran, both | dealt),
#endif
    ROW(larger, both),
    ROW(larger_odd, both | apart_only),
    ROW(smaller_interleaved, both),
    ROW(smaller_between, both),
    ROW(negative_lower_bound, both),
    ROW(positive_lower_bound, both),
    ROW(begins_late, both),
    ROW(vector_of_vector, both),
    ROW(contiguous_of_interleaved, both),
    ROW(subarray_of_indexed, both),
    ROW(darray_of_vector, both | dealt),
    ROW(six_levels, both),
    ROW(decreasing, in_memory | as_source),
    ROW(negative_stride, in_memory | as_source),
    ROW(before_the_address, in_memory | as_source),
#ifdef I_MPI_VERSION /* its MPI_Pack merges overlapping blocks */
    ROW(byte_twice, 0),
#else
    ROW(byte_twice, as_source),
#endif
    ROW(same_unit_always, as_source),
};
const int shape_count = COUNT(shapes);
