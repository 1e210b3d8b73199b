#include "campaign/process_ledger.hpp"

#include <sys/uio.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "campaign/bystander.hpp"
#include "multifile/saves/save_files.hpp"
#include "multifile/tools/verify.hpp"

namespace sheaf::test::campaign {

namespace {

struct LedgerRecordHead {
  int64_t kind = 0;
  int64_t task = 0;
  int64_t length = 0;
};

std::string text_of(const CaseFacts& facts) {
  std::ostringstream out;
  out << facts.ntasks << ' ' << facts.processes << ' ' << facts.promise.atomic << ' ' << facts.promise.appends
      << ' ' << facts.promise.flushes << ' ' << facts.promise.frames << ' ' << facts.merged << ' '
      << facts.may_die << ' ' << facts.must_succeed << ' ' << facts.durable << ' ' << facts.async << ' '
      << facts.may_differ << ' ' << facts.text;
  return out.str();
}

CaseFacts facts_in(const std::string& text) {
  CaseFacts facts;
  std::istringstream in(text);
  in >> facts.ntasks >> facts.processes >> facts.promise.atomic >> facts.promise.appends >>
      facts.promise.flushes >> facts.promise.frames >> facts.merged >> facts.may_die >> facts.must_succeed >>
      facts.durable >> facts.async >> facts.may_differ;
  std::getline(in, facts.text);
  return facts;
}

// The contents of the ledgers of all processes.
struct LedgerContents {
  CaseFacts facts;
  std::optional<Accepted> accepted;
  std::optional<Streams> old;
  int begun = 0;              // number of processes
  int ended = 0, closed = 0;  // numbers of processes
  bool second_job_got_in = false;
};

void read_ledger(const std::string& path, int rank, LedgerContents& noted) {
  std::ifstream in(path, std::ios::binary);
  bool pending = false, ended = false;
  LedgerRecordHead head;
  while (in.read(reinterpret_cast<char*>(&head), sizeof head)) {
    std::vector<std::byte> bytes(static_cast<size_t>(head.length));
    if (!in.read(reinterpret_cast<char*>(bytes.data()), head.length)) break;
    if (head.kind == 'h') {
      noted.facts = facts_in({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
      if (!noted.accepted) noted.accepted.emplace(noted.facts.ntasks);
    }
    if (!noted.accepted) throw std::runtime_error("a ledger without a head");
    switch (head.kind) {
      case 'o':
        if (!noted.old) noted.old.emplace(static_cast<size_t>(noted.facts.ntasks));
        noted.old->at(static_cast<size_t>(head.task)) = std::move(bytes);
        break;
      case 'g':
        ++noted.begun;
        break;
      case 'a':
        noted.accepted->accept(head.task, bytes);
        pending = false;
        break;
      case 'l':
        noted.accepted->lack(bytes);
        pending = false;
        break;
      case 'b':
        pending = true;
        break;
      case 'c':
        noted.accepted->commit(head.task);
        break;
      case 's':
        noted.second_job_got_in |= head.task == 0;
        break;
      case 'e':
        ended = true;
        noted.closed += head.task == 3;
        break;
      default:
        break;
    }
  }
  noted.ended += ended;
  // Any part of the bytes of an unfinished call may be in the file. Only the first process records the bytes
  // of merged calls.
  if (pending && !ended && (rank == 0 || !noted.facts.merged))
    noted.accepted->lack(std::vector<std::byte>(1));
}

void require(bool holds, const std::string& what) {
  if (!holds) throw std::runtime_error(what);
}

}  // namespace

CaseFacts facts_of(const SionProgram& program) {
  return {.ntasks = program.ntasks(),
          .processes = program.processes,
          .promise = program.promise,
          .merged = program.merged,
          .durable = program.async || program.words.find(",durable") != std::string::npos,
          .async = program.async,
          .text = program.describe()};
}

ProcessLedger::ProcessLedger(const std::string& path, const CaseFacts& facts)
    : file_(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666)) {
  if (file_.get() < 0) throw os_error("cannot make", path, errno);
  const std::string text = text_of(facts);
  note('h', 0, std::as_bytes(std::span(text)));
}

void ProcessLedger::note(char kind, int64_t task, std::span<const std::byte> bytes) {
  LedgerRecordHead head{.kind = kind, .task = task, .length = std::ssize(bytes)};
  const iovec parts[] = {{&head, sizeof head}, {const_cast<std::byte*>(bytes.data()), bytes.size()}};
  if (::writev(file_.get(), parts, 2) != static_cast<ssize_t>(sizeof head + bytes.size()))
    throw os_error("cannot write", "a ledger", errno);
}

void ProcessLedger::follow(Accepted& accepted) {
  accepted.observe([this](Accepted::Event event, int64_t task, std::span<const std::byte> bytes) {
    note("balc"[static_cast<size_t>(event)], task, bytes);
  });
}

namespace {

LedgerContents read_ledgers(const std::string& ledgers) {
  LedgerContents noted;
  for (int rank = 0; rank == 0 || rank < noted.facts.processes; ++rank)
    if (const auto path = ledgers + "." + std::to_string(rank); std::filesystem::exists(path))
      read_ledger(path, rank, noted);
  return noted;
}

// Finishes or removes what the program has left of a save, as the next program does.
void finish_saves(const std::string& multifile) {
  saves::resume_saves(posix_store(), multifile);
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(multifile).parent_path()))
    require(entry.path().filename().string().find(".save.") == std::string::npos,
            "the record of a save is left over: " + entry.path().string());
}

}  // namespace

bool check_case(const std::string& ledgers, const std::string& multifile) {
  const LedgerContents noted = read_ledgers(ledgers);
  if (!noted.accepted) return false;
  const CaseFacts& facts = noted.facts;
  const auto told = [&](const std::string& what) { return what + "; " + facts.text; };
  try {
    // Calls fail only after all processes have begun.
    require(noted.begun == facts.processes, "a process has died before the case began");
    require(noted.ended == facts.processes || facts.may_die, "the program has died");
    const bool all_closed = noted.closed == facts.processes;
    require(noted.closed == 0 || all_closed || facts.may_die || facts.may_differ,
            "the close had different outcomes");
    require(!noted.second_job_got_in, "a second job could open the file for writing");
    // If one process has seen that the save is durable, it is, even if others have died.
    const bool closed = all_closed || (facts.async && noted.closed > 0);
    require(all_closed || !facts.must_succeed, "a program without failing calls did not close");
    require_bystander(std::filesystem::path(multifile).parent_path());
    Promise promise = facts.promise;
    // An unclosed file may hold chunks that a failed call has completed.
    promise.frames |= noted.accepted->lacks_bytes();
    const auto check = [&] {
      check_streams(posix_store(), multifile, closed ? Ending::closed : Ending::not_closed, promise,
                    noted.old, *noted.accepted);
    };
    check();
    if (facts.async) {
      finish_saves(multifile);
      check();
    }
  } catch (const std::exception& e) {
    throw std::runtime_error(told(e.what()));
  }
  return true;
}

bool check_image(const std::string& ledgers, const std::string& multifile) {
  const LedgerContents noted = read_ledgers(ledgers);
  const CaseFacts& facts = noted.facts;
  // The image may show a moment before all processes have noted what was in the file.
  if (noted.begun < std::max(facts.processes, 1)) return false;
  try {
    if (facts.durable) {
      const bool closed = noted.closed == facts.processes;
      check_streams(posix_store(), multifile, closed ? Ending::closed : Ending::not_closed, facts.promise,
                    noted.old, *noted.accepted);
      return true;
    }
    bool unclosed = false;
    Streams found;
    multifile::WorkProgress quiet;
    bool is_sound = false;
    const auto problem = attempt([&] {
      found = read_streams(posix_store(), multifile, &unclosed);
      is_sound = multifile::verify(posix_store(), multifile, true, quiet).ok();
    });
    const bool has_sums = facts.text.find("checksums=off") == std::string::npos;
    if (problem || unclosed || !is_sound || !has_sums) return true;
    if (noted.old && found == *noted.old) return true;
    // The close may have succeeded before its record was written. Then the file has all accepted bytes.
    check_streams(posix_store(), multifile, Ending::closed, facts.promise, noted.old, *noted.accepted);
  } catch (const std::exception& e) {
    throw std::runtime_error(std::string(e.what()) + "; " + facts.text);
  }
  return true;
}

}  // namespace sheaf::test::campaign
