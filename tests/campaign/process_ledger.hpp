// process_ledger: records the calls of a campaign process. Each process has a ledger, a file that survives
// the process, and appends each record by one write().
#pragma once

#include <string>

#include "campaign/sion_program.hpp"
#include "storage/system/posix_descriptor.hpp"

namespace sheaf::test::campaign {

// The promises of a case, the same in the ledgers of all its processes.
struct CaseFacts {
  int ntasks = 1;
  int processes = 1;
  Promise promise;
  bool merged = false;
  bool may_die = false;       // the failure ends the program
  bool must_succeed = false;  // no call fails
  bool durable = false;       // flushed and closed data survive a loss of power
  bool async = false;         // saved in the background: a close succeeds when the save is durable
  bool may_differ = false;    // a process may be unable to learn that the save is durable
  std::string text;           // description in prose
};
CaseFacts facts_of(const SionProgram& program);

class ProcessLedger {
 public:
  // Creates the ledger. If the multifile has an old generation, the caller then records its streams by
  // note_old(). note_begin() follows: the case is judged from then on.
  ProcessLedger(const std::string& path, const CaseFacts& facts);
  void note_old(int64_t task, std::span<const std::byte> stream) { note('o', task, stream); }
  void note_begin() { note('g', 0, {}); }
  // Records all later events of `accepted`.
  void follow(Accepted& accepted);
  void note_second_job(bool refused) { note('s', refused, {}); }
  void note_end(const ProgramResult& ended) { note('e', ended.opened * 2 + ended.closed, {}); }

 private:
  void note(char kind, int64_t task, std::span<const std::byte> bytes);

  PosixDescriptor file_;
};

// Reads the ledgers PATH.0, PATH.1, ... of a case, where PATH is `ledgers`, and checks `multifile`. Throws
// std::runtime_error with the first violation. Returns false if there is no ledger.
bool check_case(const std::string& ledgers, const std::string& multifile);
// Checks like check_case(), but after a loss of power. Without `durable`, readers may refuse the file or
// report it as unclosed. If verify finds no damage, the bytes that readers return must be right.
bool check_image(const std::string& ledgers, const std::string& multifile);

}  // namespace sheaf::test::campaign
