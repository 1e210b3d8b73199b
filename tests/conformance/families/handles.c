/* handles.c: tests the common calls on handles of parallel opens (seeks, positions, FILE*, descriptors), and
 * all calls on an invalid handle. */
#include "scenario.h"

#define CUR SION_CURRENT_RANK
#define CBLK SION_CURRENT_BLK
#define CPOS SION_CURRENT_POS
#define ABS SION_ABSOLUTE_POS
#define EOT SION_END_POS

/* The example in section 12 of the interface's specification: blocks of 100, 512, 21 and 0 bytes. */
static const struct step four_blocks[] = {{ALL, WRITE, 1, 100, 0, 100, 0}, {ALL, WRITE, 512, 1, 0, 1, 0},
                                          {ALL, WRITE, 7, 3, 0, 3, 0},     {ALL, ENSURE, 512, 0, 0, 1, 0},
                                          {ALL, AT, 3, 0, SKIP, 1, 0},     {ALL, WRITTEN, 0, 0, 0, 633, 0},
                                          {0, END, 0, 0, 0, 0, 0}};
static const struct step seeks[] = {{ALL, SEEK, CUR, ABS, 100, 1, 0}, {ALL, AT, 0, 100, 4, 1, 0},
                                    {ALL, GOT, 0, 0, 0, 100, 0},      {ALL, SEEK, CUR, ABS, 101, 1, 0},
                                    {ALL, AT, 1, 1, 4, 1, 0},         {ALL, AVAIL, 0, 0, 0, 511, 0},
                                    {ALL, SEEK, OWN, ABS, 633, 1, 0}, {ALL, AT, 2, 21, 4, 1, 0},
                                    {ALL, AVAIL, 0, 0, 0, 0, 0},      {ALL, SEEK, CUR, ABS, 634, 0, 0},
                                    {ALL, AT, 2, 21, 4, 1, 0},        {ALL, SEEK, CUR, ABS, 0, 1, 0},
                                    {ALL, AT, 0, 0, 4, 1, 0},         {ALL, SEEK, CUR, EOT, 0, 1, 0},
                                    {ALL, AT, 3, 0, 4, 1, 0},         {ALL, FEOF, 0, 0, 0, 1, 0},
                                    {ALL, SEEK, CUR, EOT, -1, 1, 0},  {ALL, AT, 2, 20, 4, 1, 0},
                                    {ALL, READ, 1, 1, 632, 1, 0},     {ALL, SEEK, CUR, EOT, -633, 1, 0},
                                    {ALL, AT, 0, 0, 4, 1, 0},         {ALL, SEEK, CUR, EOT, -634, 0, 0},
                                    {ALL, SEEK, CUR, EOT, 1, 0, 0},   {ALL, AT, 0, 0, 4, 1, 0},
                                    {ALL, READ, 1, 5, 0, 5, 0},       {0, END, 0, 0, 0, 0, 0}};
/* At a block border, seeks from the end must select the later block, and seeks from the start the earlier
 * one. */
static const struct step borders[] = {{ALL, SEEK, CUR, EOT, -21, 1, 0}, {ALL, AT, 2, 0, 4, 1, 0},
                                      {ALL, READ, 1, 2, 612, 2, 0},     {ALL, SEEK, CUR, EOT, -533, 1, 0},
                                      {ALL, AT, 1, 0, 4, 1, 0},         {ALL, READ, 1, 2, 100, 2, 0},
                                      {ALL, SEEK, CUR, ABS, 612, 1, 0}, {ALL, AT, 1, 512, 4, 1, 0},
                                      {ALL, READ, 1, 2, 612, 2, 0},     {ALL, SEEK, CUR, ABS, 100, 1, 0},
                                      {ALL, FEOF, 0, 0, 0, 0, 0},       {ALL, AT, 1, 0, 4, 1, 0},
                                      {ALL, OFFSET, 1, 0, 0, 0, 0},     {ALL, SEEK, CUR, ABS, 633, 1, 0},
                                      {ALL, FEOF, 0, 0, 0, 0, 0},       {ALL, AT, 3, 0, 4, 1, 0},
                                      {ALL, FEOF, 0, 0, 0, 1, 0},       {ALL, READ, 1, 1, 0, 0, 0},
                                      {0, END, 0, 0, 0, 0, 0}};
/* Seeks to blocks by number and to offsets in the current block. A failed seek must keep the position. */
static const struct step blocks[] = {
    {ALL, SEEK, CUR, 1, 511, 1, 0},   {ALL, AT, 1, 511, 4, 1, 0},         {ALL, READ, 1, 1, 611, 1, 0},
    {ALL, AT, 1, 512, 4, 1, 0},       {ALL, SEEK, CUR, CBLK, CPOS, 1, 0}, {ALL, AT, 2, 0, 4, 1, 0},
    {ALL, SEEK, CUR, CBLK, 20, 1, 0}, {ALL, READ, 1, 1, 632, 1, 0},       {ALL, SEEK, CUR, CBLK, 0, 1, 0},
    {ALL, READ, 1, 21, 612, 21, 0},   {ALL, SEEK, CUR, 0, 100, 1, 0},     {ALL, AT, 0, 100, 4, 1, 0},
    {ALL, SEEK, CUR, 0, 101, 0, 0},   {ALL, SEEK, CUR, 4, 0, 0, 0},       {ALL, SEEK, CUR, 0, -1, 0, 0},
    {ALL, SEEK, CUR, ABS, -1, 0, 0},  {ALL, SEEK, CUR, 2, 22, 0, 0},      {ALL, SEEK, 77, 0, 0, 0, 0},
    {ALL, AT, 0, 100, 4, 1, 0},       {ALL, SEEK, CUR, 3, 0, 1, 0},       {ALL, AT, 3, 0, 4, 1, 0},
    {ALL, SEEK, CUR, 3, 1, 0, 0},     {ALL, SEEK, OWN, 0, 50, 1, 0},      {ALL, SEEK, CUR, CBLK, CPOS, 1, 0},
    {ALL, AT, 0, 50, 4, 1, 0},        {ALL, OFFSET, 0, 50, 0, 0, 0},      {ALL, GOT, 0, 0, 0, 50, 0},
    {0, END, 0, 0, 0, 0, 0}};
/* The FILE* of the handle must follow the handle's seeks. */
static const struct step streams[] = {
    {ALL, SEEK_FP, CUR, 1, 10, 1, 0}, {ALL, FP_READ, 1, 20, 110, 20, 0}, {ALL, GOT, 0, 0, 0, 130, 0},
    {ALL, AVAIL, 0, 0, 0, 482, 0},    {ALL, READ, 1, 30, 130, 30, 0},    {ALL, FP_READ, 1, 2, 160, 2, 0},
    {ALL, SEEK, CUR, 0, 100, 1, 0},   {ALL, FEOF, 0, 0, 0, 0, 0},        {ALL, FP_READ, 4, 128, 100, 128, 0},
    {ALL, FEOF, 0, 0, 0, 0, 0},       {ALL, AVAIL, 0, 0, 0, 21, 0},      {ALL, FP_READ, 1, 21, 612, 21, 0},
    {ALL, FEOF, 0, 0, 0, 0, 0},       {ALL, FEOF, 0, 0, 0, 1, 0},        {0, END, 0, 0, 0, 0, 0}};

static const struct step by_stream[] = {
    {ALL, ENSURE, 40, 0, 0, 1, 0}, {ALL, FP_WRITE, 1, 40, 0, 40, 0}, {ALL, WRITTEN, 0, 0, 0, 40, 0},
    {ALL, AT, 0, 40, SKIP, 1, 0},  {ALL, WRITE, 1, 10, 0, 10, 0},    {ALL, ENSURE, 20, 0, 0, 1, 0},
    {ALL, AT, 1, 0, SKIP, 1, 0},   {ALL, FP_WRITE, 5, 4, 0, 4, 0},   {ALL, FLUSH, 0, 0, 0, 1, 0},
    {ALL, AT, 1, 20, SKIP, 1, 0},  {ALL, OFFSET, 1, 20, 0, 0, 0},    {ALL, FP_WRITE, 1, 3, 0, 3, 0},
    {0, END, 0, 0, 0, 0, 0}};
static const struct step by_stream_back[] = {{ALL, AVAIL, 0, 0, 0, 50, 0},  {ALL, READ, 1, 50, 0, 50, 0},
                                             {ALL, FEOF, 0, 0, 0, 0, 0},    {ALL, AVAIL, 0, 0, 0, 23, 0},
                                             {ALL, READ, 1, 23, 50, 23, 0}, {ALL, FEOF, 0, 0, 0, 1, 0},
                                             {0, END, 0, 0, 0, 0, 0}};

/* SIONlib's flush returns 0 if there is nothing to flush, which programs cannot distinguish from a failure.
 * This library returns 1. */
static const struct step nothing[] = {{ALL, WRITTEN, 0, 0, 0, 0, 0},
                                      {ALL, FLUSH, 0, 0, 0, 1, 0},
                                      {ALL, AT, 0, 0, SKIP, 1, 0},
                                      {0, END, 0, 0, 0, 0, 0}};
static const struct step nothing_back[] = {
    {ALL, FEOF, 0, 0, 0, 1, 0},      {ALL, AVAIL, 0, 0, 0, 0, 0},    {ALL, READ, 1, 1, 0, 0, 0},
    {ALL, AT, 0, 0, 1, 1, 0},        {ALL, SEEK, CUR, ABS, 0, 1, 0}, {ALL, SEEK, CUR, EOT, 0, 1, 0},
    {ALL, SEEK, CUR, EOT, -1, 0, 0}, {ALL, SEEK, CUR, ABS, 1, 0, 0}, {ALL, SEEK, CUR, 0, 0, 1, 0},
    {ALL, SEEK, CUR, 1, 0, 0, 0},    {0, END, 0, 0, 0, 0, 0}};

/* A chunk of size 0 must accept no data. A request larger than a chunk, which SIONlib refuses, must continue
 * in further chunks. */
static const struct step too_large[] = {{0, WRITE, 1, 1, 0, 0, 0},     {0, ENSURE, 1, 0, 0, 0, 0},
                                        {1, WRITE, 1, 129, 0, 129, 0}, {1, AT, 1, 1, SKIP, 1, 0},
                                        {1, WRITE, 64, 2, 0, 2, 0},    {1, WRITTEN, 0, 0, 0, 257, 0},
                                        {0, END, 0, 0, 0, 0, 0}};
static const struct step too_large_back[] = {{0, FEOF, 0, 0, 0, 1, 0},
                                             {1, READ, 1, 257, 0, 257, 0},
                                             {1, FEOF, 0, 0, 0, 1, 0},
                                             {0, END, 0, 0, 0, 0, 0}};

#define PLAIN NULL, NULL, NULL
static const struct scenario scenarios[] = {
    {"seeks", 2, 1, 512, {512, 512}, "wb", "rb", PLAIN, four_blocks, seeks, {SKIP}, {633, 633}},
    {"seeks, posix, one task",
     1,
     1,
     512,
     {512},
     "wb,posix",
     "rb,posix",
     PLAIN,
     four_blocks,
     seeks,
     {SKIP},
     {633}},
    {"borders of blocks",
     4,
     2,
     512,
     {512, 500, 400, 300},
     "wb",
     "rb",
     PLAIN,
     four_blocks,
     borders,
     {SKIP},
     {633, 633, 633, 633}},
    {"borders of blocks, posix",
     1,
     1,
     512,
     {512},
     "wb",
     "rb,posix",
     PLAIN,
     four_blocks,
     borders,
     {SKIP},
     {633}},
    {"blocks by number", 2, 2, 512, {512, 512}, "wb", "rb", PLAIN, four_blocks, blocks, {SKIP}, {633, 633}},
    {"blocks by number, posix",
     2,
     1,
     512,
     {512, 512},
     "wb",
     "rb,posix",
     PLAIN,
     four_blocks,
     blocks,
     {SKIP},
     {633, 633}},
    {"reading by the stream",
     2,
     1,
     512,
     {512, 512},
     "wb",
     "rb",
     PLAIN,
     four_blocks,
     streams,
     {SKIP},
     {633, 633}},
    {"writing by the stream",
     2,
     1,
     32,
     {60, 64},
     "wb",
     "rb",
     PLAIN,
     by_stream,
     by_stream_back,
     {SKIP},
     {73, 73}},
    {"nothing written", 2, 1, 64, {100, 100}, "wb", "rb", PLAIN, nothing, nothing_back, {SKIP}, {0, 0}},
    {"nothing written, two files",
     2,
     2,
     64,
     {1, 0},
     "wb,posix",
     "rb,posix",
     PLAIN,
     nothing,
     nothing_back,
     {SKIP},
     {0, 0}},
    {"too much for a chunk",
     2,
     1,
     64,
     {0, 100},
     "wb",
     "rb",
     PLAIN,
     too_large,
     too_large_back,
     {SKIP},
     {0, 257}},
};

static unsigned char data[8];
static FILE* fp;
static int i1, i2, i3;
static sion_int64 l1, l2, *a1, *a2, *a3, *a4;
static sion_int32* m1;
static uint64_t key;
static size_t length;
static sion_key_stat_t statistics;

/* All calls, each with its result for an invalid handle. */
/* clang-format off */
#define INVALID(ROW) \
  ROW(sion_fwrite(data, 1, 1, sid), 0) \
  ROW(sion_fread(data, 1, 1, sid), 0) \
  ROW(sion_feof(sid), -1) \
  ROW(sion_bytes_avail_in_block(sid), -1) \
  ROW(sion_bytes_avail_in_chunk(sid), -1) \
  ROW(sion_get_position(sid), -1) \
  ROW(sion_get_bytes_written(sid), -1) \
  ROW(sion_get_bytes_read(sid), -1) \
  ROW(sion_get_number_of_files(sid), -1) \
  ROW(sion_get_filenumber(sid), -1) \
  ROW(sion_is_serial_opened(sid), -1) \
  ROW(sion_using_hints(sid), -1) \
  ROW(sion_get_file_endianness(sid), -1) \
  ROW(sion_get_sizeof(sid, &i1, &i2), -1) \
  ROW(sion_dedup(sid), -1) \
  ROW(sion_dup(sid, SION_DUP_ALL, 0, 0), -1) \
  ROW(sion_get_fd(sid), -1) \
  ROW(sion_parclose_mpi(sid), -1) \
  ROW(sion_generic_parclose(sid), -1) \
  ROW(sion_generic_parclose_mapped(sid), -1) \
  ROW(sion_parreinit_mpi(sid, 9), -1) \
  ROW(sion_parclose_mapped_mpi(sid), -1) \
  ROW(sion_parclose_ompi(sid), -1) \
  ROW(sion_get_fp(sid) == NULL, 1) \
  ROW(sion_get_io_info(sid) == NULL, 1) \
  ROW(sion_get_io_info_by_spec(sid, 4, 0) == NULL, 1) \
  ROW(sion_endianness_swap_needed(sid), 1) \
  ROW(sion_get_keyval_mode(sid), SION_KEYVAL_UNKNOWN) \
  ROW(sion_flush(sid), 0) \
  ROW(sion_ensure_free_space(sid, 1), 0) \
  ROW(sion_close(sid), 0) \
  ROW(sion_set_fp_closed(sid), 0) \
  ROW(sion_set_second_fp(sid, stderr), 0) \
  ROW(sion_unset_second_fp(sid), 0) \
  ROW(sion_optimize_fp_buffer(sid), 0) \
  ROW(sion_fwrite_key(data, 1, 1, 1, sid), 0) \
  ROW(sion_fread_key(data, 1, 1, 1, sid), 0) \
  ROW(sion_fread_key_iterator_reset(sid), 0) \
  ROW(sion_fread_key_iterator_next(sid, &key, &length), 0) \
  ROW(sion_seek_key(sid, 1, 0, 0), 0) \
  ROW(sion_key_full_scan(sid), 0) \
  ROW(sion_key_list_iterator_reset(sid), 0) \
  ROW(sion_key_list_iterator_next(sid, &key), 0) \
  ROW(sion_key_get_stat(sid, 1, &statistics), 0) \
  ROW(sion_get_locations(sid, &i1, &i2, &l1, &l2, &a1, &a2, &a3, &a4), 0) \
  ROW(sion_get_current_location(sid, &i1, &l1, &i2, &a1), 0) \
  ROW(sion_get_current_locations(sid, &i1, &a1, &a2), 0) \
  ROW(sion_get_mapping(sid, &i1, &m1, &i3), 0) \
  ROW(sion_coll_fwrite(data, 1, 1, sid), -1) \
  ROW(sion_coll_fread(data, 1, 1, sid), -1) \
  ROW(sion_coll_fwrite_mpi(data, 1, 1, sid), -1) \
  ROW(sion_coll_fread_mpi(data, 1, 1, sid), -1) \
  ROW(sion_startof_transaction_mpi(sid), 0) \
  ROW(sion_endof_transaction_mpi(sid), 0) \
  ROW(sion_seek(sid, 0, 0, 0), 0) \
  ROW(sion_seek_fp(sid, 0, 0, 0, &fp), 0) \
  ROW(_sion_close_sid(sid), 0)
/* clang-format on */

static void invalid_handles(void) {
  const int handles[] = {-1, -101, 4711, 1 << 30};
  for (int i = 0; i < COUNT(handles); i++) {
    const int sid = handles[i];
#define CHECK_ONE(call, result) expect(#call, "invalid handle", result, (long long)(call));
    INVALID(CHECK_ONE)
  }
}

static void constants(void) {
  int version[4];
  expect("sion_get_version", "result", 1,
         sion_get_version(&version[0], &version[1], &version[2], &version[3]));
  const int given[] = {1, 7, 6, 5};
  for (int i = 0; i < 4; i++) expect("sion_get_version", "number", given[i], version[i]);
  expect("sion_is_thread_safe", "result", 1, sion_is_thread_safe());
  expect("sion_get_endianness", "result", *(const unsigned char*)&(const short){1} == 0,
         sion_get_endianness());
  static const struct {
    int mode;
    const char* name;
  } names[] = {{50, "SION_KEYVAL_NONE"},
               {51, "SION_KEYVAL_INLINE"},
               {52, "SION_KEYVAL_META"},
               {53, "SION_KEYVAL_HASH"},
               {54, "SION_KEYVAL_UNKNOWN"},
               {55, "unknown"},
               {0, "unknown"},
               {-1, "unknown"}};
  for (int i = 0; i < COUNT(names); i++)
    expect_text("sion_keyval_type_to_str", "name", names[i].name, sion_keyval_type_to_str(names[i].mode));
}

static int locks, unlocks;
static int lock(void* taken) { return ++*(int*)taken, locks++, SION_SUCCESS; }
static int unlock(void* taken) { return --*(int*)taken, unlocks++, SION_SUCCESS; }

/* The library must call the lock callbacks once at their registration, and keep them. */
static void user_lock(void) {
  static int taken;
  if (run.only) return;
  run.name = "user lock";
  expect("sion_lock_user_callbacks_defined", "before", 0, sion_lock_user_callbacks_defined());
  expect("sion_lock_register_lock_callbacks", "result", 1,
         sion_lock_register_lock_callbacks(lock, unlock, &taken));
  expect("sion_lock_register_lock_callbacks", "calls of lock", 1, locks);
  expect("sion_lock_register_lock_callbacks", "calls of unlock", 1, unlocks);
  expect("sion_lock_user_callbacks_defined", "after", 1, sion_lock_user_callbacks_defined());
  expect("sion_lock_register_lock_callbacks", "once more", 0,
         sion_lock_register_lock_callbacks(lock, unlock, &taken));
  run_scenario(&scenarios[0]);
  const int takes_part = run.world_rank < scenarios[0].tasks && scenarios[0].tasks <= run.world_size;
  if (takes_part) expect("user lock", "it is used", 1, locks > 1);
  expect("user lock", "it is given back", 0, taken);
}

int main(int argc, char** argv) {
  begin_program(&argc, &argv, MPI_THREAD_SINGLE);
  for (int i = 0; i < COUNT(scenarios); i++) run_scenario(&scenarios[i]);
  if (begin_case("invalid handles", 2)) invalid_handles();
  end_case(2);
  if (begin_case("constants", 1)) constants();
  end_case(1);
  user_lock();
  return end_program();
}
