/* direct.c: tests reading and writing through the FILE* and the descriptor of the library, and through a
 * second FILE*. */
#include "scenario.h"

#include <fcntl.h>

#define CUR SION_CURRENT_RANK

/* Calls of the library and calls on its FILE* in turn. */
static const struct step stream_writing[] = {
    {ALL, FP_AT, 0, 0, 0, 0, 0},    {ALL, ENSURE, 40, 0, 0, 1, 0},    {ALL, FP_WRITE, 1, 30, 0, 30, 0},
    {ALL, WRITTEN, 0, 0, 0, 30, 0}, {ALL, FP_WRITE, 1, 10, 0, 10, 0}, {ALL, OFFSET, 0, 40, 0, 0, 0},
    {ALL, WRITE, 1, 8, 0, 8, 0},    {ALL, FP_AT, 0, 48, 0, 0, 0},     {ALL, ENSURE, 20, 0, 0, 1, 0},
    {ALL, FP_AT, 1, 0, 0, 0, 0},    {ALL, FP_WRITE, 5, 4, 0, 4, 0},   {ALL, FLUSH, 0, 0, 0, 1, 0},
    {ALL, AT, 1, 20, SKIP, 1, 0},   {ALL, WRITTEN, 0, 0, 0, 68, 0},   {ALL, WRITE, 1, 2, 0, 2, 0},
    {ALL, FP_AT, 1, 22, 0, 0, 0},   {0, END, 0, 0, 0, 0, 0}};
static const struct step stream_reading[] = {
    {ALL, FP_AT, 0, 0, 0, 0, 0},     {ALL, AVAIL, 0, 0, 0, 48, 0},     {ALL, FP_READ, 1, 20, 0, 20, 0},
    {ALL, AVAIL, 0, 0, 0, 28, 0},    {ALL, READ, 1, 10, 20, 10, 0},    {ALL, FP_AT, 0, 30, 0, 0, 0},
    {ALL, FP_READ, 18, 1, 30, 1, 0}, {ALL, FEOF, 0, 0, 0, 0, 0},       {ALL, FP_AT, 1, 0, 0, 0, 0},
    {ALL, AVAIL, 0, 0, 0, 22, 0},    {ALL, FP_READ, 1, 22, 48, 22, 0}, {ALL, FEOF, 0, 0, 0, 1, 0},
    {ALL, GOT, 0, 0, 0, 70, 0},      {ALL, SEEK, CUR, 0, 5, 1, 0},     {ALL, FP_AT, 0, 5, 0, 0, 0},
    {ALL, FP_READ, 1, 5, 5, 5, 0},   {ALL, SEEK_FP, CUR, 1, 5, 1, 0},  {ALL, FP_READ, 1, 5, 53, 5, 0},
    {0, END, 0, 0, 0, 0, 0}};
static const struct step descriptor_writing[] = {
    {ALL, ENSURE, 40, 0, 0, 1, 0},    {ALL, FD_WRITE, 30, 0, 0, 30, 0}, {ALL, WRITTEN, 0, 0, 0, 30, 0},
    {ALL, FD_WRITE, 10, 0, 0, 10, 0}, {ALL, WRITE, 1, 8, 0, 8, 0},      {ALL, ENSURE, 20, 0, 0, 1, 0},
    {ALL, AT, 1, 0, SKIP, 1, 0},      {ALL, FD_WRITE, 20, 0, 0, 20, 0}, {ALL, FLUSH, 0, 0, 0, 1, 0},
    {ALL, WRITTEN, 0, 0, 0, 68, 0},   {ALL, FD_WRITE, 2, 0, 0, 2, 0},   {0, END, 0, 0, 0, 0, 0}};
static const struct step descriptor_reading[] = {
    {ALL, AVAIL, 0, 0, 0, 48, 0},     {ALL, FD_READ, 20, 0, 0, 20, 0},  {ALL, AVAIL, 0, 0, 0, 28, 0},
    {ALL, READ, 1, 10, 20, 10, 0},    {ALL, FD_READ, 18, 0, 30, 18, 0}, {ALL, FEOF, 0, 0, 0, 0, 0},
    {ALL, FD_READ, 22, 0, 48, 22, 0}, {ALL, FEOF, 0, 0, 0, 1, 0},       {ALL, SEEK, CUR, 0, 7, 1, 0},
    {ALL, FD_READ, 3, 0, 7, 3, 0},    {0, END, 0, 0, 0, 0, 0}};

#define PLAIN NULL, NULL, NULL
#define BOTH_STREAMS stream_writing, stream_reading
static const struct scenario scenarios[] = {
    {"stream", 1, 1, 32, {60}, "wb", "rb", PLAIN, BOTH_STREAMS, {SKIP}, {70}},
    {"stream of each task",
     4,
     2,
     32,
     {60, 64, 50, 64},
     "wb,ansi",
     "rb",
     PLAIN,
     BOTH_STREAMS,
     {SKIP},
     {70, 70, 70, 70}},
    {"stream, data of a descriptor",
     2,
     1,
     32,
     {64, 64},
     "wb,posix",
     "rb",
     PLAIN,
     descriptor_writing,
     stream_reading,
     {SKIP},
     {70, 70}},
    {"descriptor",
     1,
     1,
     32,
     {64},
     "wb,posix",
     "rb,posix",
     PLAIN,
     descriptor_writing,
     descriptor_reading,
     {SKIP},
     {70}},
    {"descriptor of each task",
     6,
     2,
     32,
     {64, 64, 64, 64, 64, 64},
     "wb,posix",
     "rb,posix",
     PLAIN,
     descriptor_writing,
     descriptor_reading,
     {SKIP},
     {70, 70, 70, 70, 70, 70}},
};

static const struct step twice[] = {
    {ALL, WRITE, 1, 20, 0, 20, 0}, {ALL, WRITE, 1, 20, 0, 20, 0}, {0, END, 0, 0, 0, 0, 0}};
static const struct step through[] = {{ALL, SEEK, CUR, 0, 4, 1, 0},  {ALL, READ, 1, 4, 4, 4, 0},
                                      {ALL, FP_READ, 1, 4, 8, 4, 0}, {ALL, GOT, 0, 0, 0, 12, 0},
                                      {ALL, AVAIL, 0, 0, 0, 28, 0},  {0, END, 0, 0, 0, 0, 0}};

/* The program replaces the FILE* of the handle by a second one. The library must read through it. */
static void second_stream(const char* mode, int expected) {
  int files = 1, rank = 0;
  sion_int64 chunk = 64;
  sion_int32 block = 32;
  MPI_Comm nobody = MPI_COMM_NULL;
  FILE *own = NULL, *second, *third;
  struct stream s;
  memset(&s, 0, sizeof s);
  s.task = run.rank;
  s.sid =
      sion_paropen_mpi(path("second"), "wb", &files, run.comm, &nobody, &chunk, &block, &rank, NULL, NULL);
  run_steps(&s, twice, run.rank, "writing");
  expect("sion_parclose_mpi", "result", 1, sion_parclose_mpi(s.sid));
  s.sid =
      sion_paropen_mpi(path("second"), mode, &files, run.comm, &nobody, &chunk, &block, &rank, &own, NULL);
  second = fopen(path("second"), "r");
  third = fopen(path("second"), "r");
  expect("sion_set_second_fp", "result", expected, sion_set_second_fp(s.sid, second));
  if (expected) {
    expect("sion_get_fp", "it is the second one", 1, sion_get_fp(s.sid) == second);
    run_steps(&s, through, run.rank, "second stream");
    expect("sion_set_second_fp", "once more", 1, sion_set_second_fp(s.sid, third));
    expect("sion_get_fp", "it is still the second one", 1, sion_get_fp(s.sid) == second);
    expect("sion_unset_second_fp", "result", 1, sion_unset_second_fp(s.sid));
    expect("sion_get_fp", "it is the library's", 1, sion_get_fp(s.sid) == own);
    expect("sion_unset_second_fp", "without one", 1, sion_unset_second_fp(s.sid));
    run_steps(&s, through, run.rank, "first stream");
    expect("sion_set_second_fp", "for the close", 1, sion_set_second_fp(s.sid, second));
    expect("sion_optimize_fp_buffer", "result", 1, sion_optimize_fp_buffer(s.sid));
  } else {
    fclose(second);
  }
  const int own_descriptor = own ? fileno(own) : -1, descriptor = expected ? fileno(second) : -1;
  expect("sion_parclose_mpi", "result", 1, sion_parclose_mpi(s.sid));
  expect("sion_parclose_mpi", "the own stream is closed", -1, fcntl(own_descriptor, F_GETFD));
  expect("sion_parclose_mpi", "the second stream is closed", -1, fcntl(descriptor, F_GETFD));
  fclose(third);
}

static void no_file(void) {
  FILE* made = fopen(path("there"), "w");
  if (made) fclose(made);
  expect("_sion_file_stat_file", "it is there", 1, _sion_file_stat_file(path("there")));
  expect("_sion_file_stat_file", "it is not there", 0, _sion_file_stat_file(path("not there")));
  expect("_sion_stat_file", "the macro", 1, _sion_stat_file(path("there")));
}

/* Cases of sion_swap: `n` items of `size` bytes, in place or not. */
static const struct {
  const char *given, *wanted;
  int size, n, swap, in_place;
} swaps[] = {{"abcdefgh", "badcfehg", 2, 4, 1, 0}, {"abcdefgh", "dcbahgfe", 4, 2, 1, 1},
             {"abcdefgh", "hgfedcba", 8, 1, 1, 0}, {"abcdefgh", "abcdefgh", 8, 1, 0, 0},
             {"abcdefgh", "abcdefgh", 4, 2, 0, 1}, {"abcdefgh", "abcdefgh", 1, 8, 1, 0},
             {"abcdefgh", "cbafedgh", 3, 2, 1, 1}};

static void swap(int i) {
  char from[9], to[9] = "abcdefgh";
  strcpy(from, swaps[i].given);
  sion_swap(swaps[i].in_place ? from : to, from, swaps[i].size, swaps[i].n, swaps[i].swap);
  expect_text("sion_swap", "bytes", swaps[i].wanted, swaps[i].in_place ? from : to);
}

int main(int argc, char** argv) {
  begin_program(&argc, &argv, MPI_THREAD_SINGLE);
  for (int i = 0; i < COUNT(scenarios); i++) {
    if (begin_case(scenarios[i].name, scenarios[i].tasks)) {
      scenario_way(&scenarios[i], "direct", 1, 1);
      scenario_way(&scenarios[i], "direct", 0, 1);
      if (run.rank == 0) scenario_sizes(&scenarios[i], "direct");
      meet();
    }
    end_case(scenarios[i].tasks);
  }
  if (begin_case("second stream", 2)) second_stream("rb", 1);
  end_case(2);
  if (begin_case("second stream, posix", 2)) second_stream("rb,posix", 0);
  end_case(2);
  if (begin_case("files", 1)) no_file();
  end_case(1);
  for (int i = 0; i < COUNT(swaps); i++) {
    if (begin_case("swap", 1)) swap(i);
    end_case(1);
  }
  return end_program();
}
