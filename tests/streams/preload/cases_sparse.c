#include "cases.h"

static const off_t hole = (off_t)1 << 30;

static int sparse_file(const char* name) {
  const int fd = file_with(name, "begin");
  pwrite(fd, "middle", 6, hole);
  ftruncate(fd, 2 * hole);
  return fd;
}

/* Mapping holes must take neither time nor memory. */
static void mapped(void) {
  const int fd = sparse_file("cap.map");
  char* const memory = mmap(NULL, (size_t)(2 * hole), PROT_READ, MAP_PRIVATE, fd, 0);
  VALUE(memory != MAP_FAILED && memcmp(memory, "begin", 5) == 0 && memcmp(memory + hole, "middle", 6) == 0);
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  unsigned char* const there = malloc((size_t)hole / page);
  size_t pages = 0;
  CALL(mincore(memory + (2 << 20), (size_t)hole - (4 << 20), there));
  for (size_t i = 0; i < ((size_t)hole - (4 << 20)) / page; ++i) pages += there[i] & 1;
  VALUE(pages);
  free(there);
  VALUE(memory[hole / 2]);
  CALL(munmap(memory, (size_t)(2 * hole)));
  CALL(mmap(NULL, 12, PROT_READ, 0, fd, 0) == MAP_FAILED ? -1 : 0);
  CALL(mmap(NULL, 12, PROT_READ, MAP_TYPE, fd, 0) == MAP_FAILED ? -1 : 0);
  char* const own = mmap(NULL, 12, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, fd, 0);
  VALUE(own != MAP_FAILED && own[0] == 0);
  CALL(munmap(own, 12));
  CALL(close(fd));
  CALL(unlink("cap.map"));
}

static void show_sparse(const char* name) {
  char room[7] = "";
  const int fd = open(name, O_RDONLY);
  struct stat status;
  CALL(fstat(fd, &status));
  VALUE(status.st_size);
  VALUE(lseek(fd, 1 << 20, SEEK_DATA) / (1 << 20));
  VALUE(lseek(fd, 0, SEEK_HOLE) <= 1 << 20);
  VALUE(lseek(fd, hole, SEEK_HOLE) <= hole + (1 << 20));
  CALL(pread(fd, room, 6, hole));
  printf("  %s\n", room);
  CALL(close(fd));
}

/* Holes must stay holes when a file moves into a set or out of one. */
static void renamed(void) {
  close(sparse_file("cap.out"));
  CALL(rename("cap.out", "out"));
  show_sparse("out");
  struct stat status;
  CALL(stat("out", &status));
  VALUE(status.st_blocks < 1000);
  CALL(rename("out", "cap.in"));
  show_sparse("cap.in");
  CALL(unlink("cap.in"));
}

void cases_sparse(void) {
  mapped();
  renamed();
}
