/* The etypes of views, one per row, and the queries of datatypes. See views.h. */
#include "views.h"

MPI_Aint extent_of(MPI_Datatype type) {
  MPI_Aint lower, extent;
  MPI_Type_get_extent(type, &lower, &extent);
  return extent;
}

int size_of(MPI_Datatype type) {
  int size;
  MPI_Type_size(type, &size);
  return size;
}

MPI_Datatype resized(MPI_Datatype type, MPI_Aint lower, MPI_Aint extent) {
  MPI_Datatype made;
  MPI_Type_create_resized(type, lower, extent, &made);
  MPI_Type_free(&type);
  return made;
}

MPI_Datatype committed(MPI_Datatype type) {
  MPI_Type_commit(&type);
  return type;
}

int is_named(MPI_Datatype type) {
  int n[3], combiner;
  MPI_Type_get_envelope(type, &n[0], &n[1], &n[2], &combiner);
  return combiner == MPI_COMBINER_NAMED;
}

static MPI_Datatype bytes_1(void) { return MPI_BYTE; }
static MPI_Datatype bytes_2(void) { return MPI_SHORT; }
static MPI_Datatype bytes_4(void) { return MPI_INT; }
static MPI_Datatype bytes_8(void) { return MPI_DOUBLE; }
/* MPI_LONG_DOUBLE cannot be used, because MPICH packs 10 of its 16 bytes. */
static MPI_Datatype bytes_16(void) { return MPI_C_DOUBLE_COMPLEX; }
static MPI_Datatype pair(void) { return MPI_DOUBLE_INT; }      /* 12 bytes of data, extent 16 */
static MPI_Datatype short_pair(void) { return MPI_SHORT_INT; } /* a hole inside */
static MPI_Datatype bytes_3(void) {
  MPI_Datatype made;
  MPI_Type_contiguous(3, MPI_CHAR, &made);
  return made;
}
static MPI_Datatype with_holes(void) {
  MPI_Datatype made;
  MPI_Type_indexed(2, (int[]){1, 2}, (int[]){1, 3}, MPI_SHORT, &made);
  return resized(made, 0, 13);
}
#define ETYPE(make) \
  { #make, make }
const struct elementary etypes[] = {ETYPE(bytes_1),    ETYPE(bytes_4),  ETYPE(bytes_3),
                                    ETYPE(bytes_8),    ETYPE(pair),     ETYPE(bytes_2),
                                    ETYPE(with_holes), ETYPE(bytes_16), ETYPE(short_pair)};
const int etype_count = sizeof etypes / sizeof *etypes;
