// campaign_INTERFACE run DIR LEDGERS FIRST COUNT: runs cases of the campaign as real processes. Each case
// runs in DIR/SEED, first undisturbed, then with its failure. The processes record their calls in
// LEDGERS/SEED.undisturbed.RANK and LEDGERS/SEED.RANK. Calls on files in LEDGERS never fail. If the failure
// of a case ends the program, the remaining cases do not run. Requires libfailing_calls.so in LD_PRELOAD, and
// libfailing_allocations.so for failing allocations. campaign_check compares the results with the ledgers.
// campaign_INTERFACE write DIR LEDGERS FIRST COUNT: runs the same programs without failures in existing
// directories DIR/SEED, every second one with the word durable (images.py).
// If the environment has CAMPAIGN_ASYNC, the programs save in the background, and each process waits until
// its save is durable.
#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "campaign/bystander.hpp"
#include "campaign/process_group.hpp"
#include "campaign/process_ledger.hpp"
#include "sheaf.h"

namespace sheaf::test::campaign {
namespace {

constexpr int threads = 2;
constexpr uint64_t next_draw = 1'000'000'007;

// Whether all programs save in the background.
bool saves_in_background() { return std::getenv("CAMPAIGN_ASYNC") != nullptr; }

// Draws programs from `seed` until it has one that this interface can run.
SionProgram draw_fitting_program(uint64_t seed, int members) {
  using OpenForm = SionProgram::OpenForm;
  for (uint64_t draw = seed;; draw += next_draw) {
#if defined(CAMPAIGN_OMP)
    const Interface all[] = {Interface::parallel, Interface::collective, Interface::keyval,
                             Interface::compressed};
    SionProgram p = draw_program(all[seed % std::size(all)], draw, members);
    const bool fits = p.open == OpenForm::parallel;
    p.files = 1;
#elif defined(CAMPAIGN_MPI)
    const Interface all[] = {Interface::parallel, Interface::mapped, Interface::collective,
                             Interface::merged,   Interface::keyval, Interface::compressed};
    SionProgram p = draw_program(all[seed % std::size(all)], draw, members);
    const bool fits = p.open != OpenForm::serial;
#else
    (void)members;
    const Interface all[] = {Interface::serial, Interface::keyval, Interface::compressed};
    SionProgram p = draw_program(all[seed % std::size(all)], draw);
    const bool fits = p.open == OpenForm::serial;
#endif
    if (!fits || (saves_in_background() && p.promise.appends)) continue;
    Random random(seed);
    if (random.chance(4)) p.words += ",term=flush";
    if (saves_in_background()) save_in_background(p);
    return p;
  }
}

// Lets a second process open the file for writing. Returns whether the library refuses the open.
bool second_job_is_refused(const std::string& path) {
  const std::string program =
      std::filesystem::read_symlink("/proc/self/exe").parent_path() / "campaign_check";
  const char* const words[] = {program.c_str(), "second", path.c_str(), nullptr};
  std::vector<char*> variables;
  for (char** v = environ; *v; ++v)
    if (std::strncmp(*v, "LD_PRELOAD=", 11) != 0) variables.push_back(*v);
  variables.push_back(nullptr);
  pid_t child = 0;
  int status = 0;
  return posix_spawn(&child, program.c_str(), nullptr, nullptr, const_cast<char**>(words),
                     variables.data()) == 0 &&
         waitpid(child, &status, 0) == child && status == 0;
}

class ProcessCase {
 public:
  ProcessCase(ProcessGroup& group, const FailingCalls& failing, uint64_t seed, std::string directory,
              std::string ledgers)
      : group_(group),
        failing_(failing),
        program_(draw_fitting_program(seed, group.members())),
        injection_(draw_process_injection(seed)),
        directory_(std::move(directory)),
        ledgers_(std::move(ledgers)) {}

  // Runs the program in an existing directory, without failures.
  void write() {
    if (injection_.seed % 2 == 0 && program_.words.find(",durable") == std::string::npos)
      program_.words += ",durable";
    CaseFacts facts = facts_of(program_);
    facts.may_die = true;
    run_in(directory_, ledgers_, facts, [](const std::string&) {});
  }
  bool may_die() const { return injection_.may_die(group_.members()); }
  void run(bool is_first_thread) {
    is_first_thread_ = is_first_thread;
    CaseFacts facts = facts_of(program_);
    facts.text += "; undisturbed";
    facts.must_succeed = true;
    run_in(directory_ + "/undisturbed", ledgers_ + ".undisturbed", facts,
           [&](const std::string& prefix) { failing_.count(prefix); });
    const UndisturbedCounts counted = counted_;
    facts = facts_of(program_);
    facts.text += "; " + injection_.describe();
    facts.may_die = may_die();
    facts.must_succeed = injection_.must_succeed();
    // A process that cannot read the records of a save any more calls it failed.
    facts.may_differ = facts.async && injection_.failure == ProcessFailure::from_then_on;
    injects_ = true;
    run_in(directory_ + "/disturbed", ledgers_, facts, [&](const std::string& prefix) {
      failing_.inject(injection_, prefix, group_.processes().rank, group_.processes().count, counted);
    });
  }

 private:
  template <class Begin>
  void run_in(const std::string& directory, const std::string& ledgers, const CaseFacts& facts,
              Begin&& begin) {
    if (group_.rank() == 0) {
      std::filesystem::create_directories(directory);
      make_bystander(directory);
    }
    group_.any(false);
    const std::string path = directory + "/multifile";
    Accepted before(program_.ntasks());
    if (program_.replaces) run_program(group_, program_.before(), path, before);
    ProcessLedger ledger(ledgers + "." + std::to_string(group_.rank()), facts);
    for (int64_t t = 0; program_.replaces && t < before.ntasks(); ++t)
      if (t / program_.tasks_each == group_.rank()) ledger.note_old(t, before.of(t));
    ledger.note_begin();
    Accepted accepted(program_.ntasks());
    ledger.follow(accepted);
    group_.any(false);
    if (is_first_thread_) begin(path);
    group_.any(false);
    std::function<void(int)> before_call;
    const int when = static_cast<int>(injection_.seed % static_cast<uint64_t>(program_.calls + 1));
    if (injects_ && injection_.failure == ProcessFailure::second_job)
      before_call = [&, when](int call) {
        if (call == when) ledger.note_second_job(second_job_is_refused(path));
      };
    const ProgramResult ended = run_program(group_, program_, path, accepted, before_call);
    group_.any(false);
    if (is_first_thread_) counted_ = failing_.stop();
    ledger.note_end(ended);
  }

  ProcessGroup& group_;
  const FailingCalls& failing_;
  SionProgram program_;
  const ProcessInjection injection_;
  const std::string directory_, ledgers_;
  bool is_first_thread_ = true, injects_ = false;
  UndisturbedCounts counted_;
};

void run_cases(ProcessGroup& group, const FailingCalls& failing, bool is_first_thread, bool writes,
               char** words) {
  const std::string directory = words[0], ledgers = words[1];
  const uint64_t first = std::strtoull(words[2], nullptr, 10);
  const uint64_t count = std::strtoull(words[3], nullptr, 10);
  for (uint64_t seed = first; seed < first + count; ++seed) {
    ProcessCase one(group, failing, seed, directory + "/" + std::to_string(seed),
                    ledgers + "/" + std::to_string(seed));
    if (writes) {
      one.write();
      continue;
    }
    one.run(is_first_thread);
    if (one.may_die()) return;  // the program may die after the case
  }
}

int run(bool writes, char** words) {
  const Processes processes = Processes::start();
  const FailingCalls failing;
  if (!writes && !failing.loaded()) {
    std::fputs("campaign: libfailing_calls.so is not in LD_PRELOAD\n", stderr);
    return 2;
  }
  Team team{.processes = processes, .failing = failing};
#ifdef CAMPAIGN_OMP
  team.threads = threads;
#pragma omp parallel num_threads(threads)
  {
    ProcessGroup group(team, omp_get_thread_num());
    run_cases(group, failing, omp_get_thread_num() == 0, writes, words);
  }
#else
  ProcessGroup group(team, 0);
  run_cases(group, failing, true, writes, words);
#endif
  Processes::stop();
  return 0;
}

}  // namespace
}  // namespace sheaf::test::campaign

int main(int argc, char** argv) {
  const bool writes = argc > 1 && std::strcmp(argv[1], "write") == 0;
  if (argc != 6 || (!writes && std::strcmp(argv[1], "run") != 0)) {
    std::fputs("campaign: run or write DIR LEDGERS FIRST COUNT\n", stderr);
    return 2;
  }
  sheaf_print_errors(0);
  return sheaf::test::campaign::run(writes, argv + 2);
}
