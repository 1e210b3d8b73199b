/* The standard streams of C++, which keep the stream of the C library that they were created for. */
#include <iostream>
#include <string>

extern "C" {
#include "cases.h"
}

static void by_dup2() {
  const int fd = open("cap.out", O_WRONLY | O_CREAT, 0644);
  std::cout << "before ";
  dup2(fd, 1);
  std::cout << "by std::cout " << 1 << std::endl;
  printf("by printf\n");
  std::cout << "and again" << std::endl;
}

static void by_freopen() {
  if (!freopen("cap.out", "w", stderr)) return;
  std::cerr << "by std::cerr" << std::endl;
  std::clog << "by std::clog" << std::endl;
}

static void from_input() {
  close(file_with("cap.out", "word 17\n"));
  close(0);
  open("cap.out", O_RDWR);
  std::string word;
  int number = 0;
  std::cin >> word >> number;
  lseek(0, 0, SEEK_END);
  dprintf(0, "%s and %d\n", word.c_str(), number);
}

static void alone() {
  std::ios::sync_with_stdio(false);
  const int fd = open("cap.out", O_WRONLY | O_CREAT, 0644);
  dup2(fd, 1);
  std::cout << "without the C library" << std::endl;
}

extern "C" void cases_cxx_on(void (*run)(void (*)(void), const char*)) {
  run(by_dup2, "cap.out");
  run(by_freopen, "cap.out");
  run(from_input, "cap.out");
  run(alone, "cap.out");
}
