// Runs the campaign over named streams in containers. Programs of several hosts write to one set, each to
// streams of its own.
#include <gtest/gtest.h>

#include <map>

#include "campaign/injection.hpp"
#include "comm/agree.hpp"
#include "streams/container/container_set.hpp"
#include "streams/container/gather.hpp"
#include "streams/container/named_streams.hpp"
#include "support/stores/memory_store.hpp"
#include "support/variable.hpp"

namespace sheaf::test::campaign {

using namespace streams;

namespace {

using Bytes = std::vector<std::byte>;
const std::string set_name = "dir/set";

// A stream as known to its program.
struct KnownStream {
  Bytes accepted;       // bytes appended by calls that returned a count
  bool lacks = false;   // a failed call was not repeated
  bool unsure = false;  // a failed call may have removed, renamed or truncated the stream
  bool exists = false;
};

class StreamProgram {
 public:
  StreamProgram(uint64_t seed, int hosts) : seed_(seed), random_(seed * 613 + 5), hosts_(hosts) {}

  // Runs the program and returns the number of its calls. Throws std::runtime_error with the first violation.
  int run(Store& store, const std::string& run_name) {
    for (int h = 0; h < hosts_; ++h) {
      std::shared_ptr<ContainerSet> set;
      const std::string host = run_name + "h" + std::to_string(h);
      if (attempt([&] { set = ContainerSet::open(store, set_name, {host, "/dev/shm"}); })) return calls_;
      sets_.push_back(std::move(set));
    }
    const int steps = 4 + static_cast<int>(random_.below(20));
    for (int step = 0; step < steps && !died_; ++step) one_call();
    for (int h = 0; h < hosts_ && !died_; ++h)
      for (int s = 0; s < 3; ++s) flush(h, s);
    streams_.clear();
    sets_.clear();
    return calls_;
  }
  void die() { died_ = true; }

  // Checks the streams that readers find in the containers, without a multifile.
  void check(Store& store) const {
    std::shared_ptr<const NamedStreams> seen;
    const auto problem = attempt([&] { seen = NamedStreams::open(store, set_name); });
    for (const auto& [name, known] : known_) {
      if (known.unsure) continue;
      if (problem) {
        if (known.accepted.empty()) continue;
        throw std::runtime_error(std::string("the set cannot be read: ") + problem->what());
      }
      const NamedStream* const stream = seen->find(name);
      if (stream == nullptr) {
        if (known.accepted.empty()) continue;
        throw std::runtime_error(name + " is not there");
      }
      // If the program was killed in a write, the container may have a part of its bytes, which then do not
      // match the checksum.
      const int64_t size = stream->size;
      Bytes found(died_ ? std::min(known.accepted.size(), static_cast<size_t>(size))
                        : static_cast<size_t>(size) + 1);
      found.resize(seen->read(*stream, found, 0));
      const bool begins = found.size() >= known.accepted.size() &&
                          std::equal(known.accepted.begin(), known.accepted.end(), found.begin());
      // The last call may have been in flight when the program died. On a broken disk, the bytes of a failed
      // call cannot be removed.
      if (!begins || (!died_ && !known.lacks && found.size() != known.accepted.size()))
        throw std::runtime_error(name + " has " + std::to_string(found.size()) + " bytes instead of " +
                                 std::to_string(known.accepted.size()) + (begins ? "" : ", and others"));
    }
  }

  // Gathers the containers into a multifile. gather() must keep containers that lack bytes, and the multifile
  // must have all accepted bytes. `can_record` is false if a container cannot record that bytes are missing.
  void gather_and_check(Store& store, bool can_record) const {
    multifile::WorkProgress quiet;
    bool keeps = true;  // stays true if gather() fails
    attempt([&] { keeps = !gather(store, {.set = set_name}, quiet).kept.empty(); });
    const bool lacks = std::ranges::any_of(known_, [](const auto& k) { return k.second.lacks; });
    const bool unsure = std::ranges::any_of(known_, [](const auto& k) { return k.second.unsure; });
    if (can_record && lacks && !keeps && !unsure && !died_)
      throw std::runtime_error("a container whose stream lacks bytes was replaced by a multifile");
    check(store);
  }

 private:
  std::string name_of_stream(int host, int number) const {
    return "out/h" + std::to_string(host) + "s" + std::to_string(number);
  }

  void one_call() {
    const int host = static_cast<int>(random_.below(hosts_));
    const int number = static_cast<int>(random_.below(3));
    const int64_t what = random_.below(12);
    if (what == 0)
      return change(host, number, true, [&](ContainerSet& set, const std::string& name) { set.remove(name); },
                    {});
    if (what == 1) {
      const int64_t size = random_.below(3000);
      const auto found = known_.find(name_of_stream(host, number));
      if (found == known_.end()) return;
      Bytes cut = found->second.accepted;
      cut.resize(static_cast<size_t>(size));
      return change(
          host, number, false, [&](ContainerSet& set, const std::string& name) { set.truncate(name, size); },
          std::move(cut));
    }
    if (what == 2) return flush(host, number);
    append(host, number);
  }

  template <class Act>
  void change(int host, int number, bool removes, Act&& act, Bytes then) {
    const std::string name = name_of_stream(host, number);
    const auto found = known_.find(name);
    if (found == known_.end() || !found->second.exists) return;
    ++calls_;
    streams_.erase(name);
    if (attempt([&] { act(*sets_[static_cast<size_t>(host)], name); }) || died_) {
      found->second.unsure = true;
      return;
    }
    if (found->second.unsure) return;
    found->second.accepted = std::move(then);
    found->second.exists = !removes;
    if (found->second.accepted.empty()) found->second.lacks = false;
    // If bytes were missing, the stream may be truncated before or after the missing bytes.
    found->second.unsure = found->second.lacks;
  }

  std::shared_ptr<ContainerStream> stream_of(int host, int number) {
    const std::string name = name_of_stream(host, number);
    auto& stream = streams_[name];
    if (stream) return stream;
    attempt([&] { stream = sets_[static_cast<size_t>(host)]->open_stream(name, {.create = true}); });
    return stream;
  }

  void append(int host, int number) {
    const auto stream = stream_of(host, number);
    if (!stream) return;
    KnownStream& known = known_[name_of_stream(host, number)];
    known.exists = true;
    Bytes bytes(static_cast<size_t>(1 + random_.below(random_.chance(4) ? 90'000 : 700)));
    for (std::byte& b : bytes) b = static_cast<std::byte>(random_.below(256));
    const bool repeats = random_.chance(2);
    std::span<const std::byte> left = bytes;
    for (int tries = 0; !left.empty() && tries < (repeats ? 6 : 1); ++tries) {
      ++calls_;
      int64_t taken = 0;
      if (attempt([&] { taken = stream->append(left).bytes; })) continue;
      if (died_) return;
      if (!known.unsure) known.accepted.insert(known.accepted.end(), left.begin(), left.begin() + taken);
      left = left.subspan(static_cast<size_t>(taken));
    }
    if (!left.empty()) known.lacks = true;
  }

  void flush(int host, int number) {
    const auto found = streams_.find(name_of_stream(host, number));
    if (found == streams_.end() || !found->second) return;
    const KnownStream& known = known_[found->first];
    ++calls_;
    const bool failed = attempt([&] { found->second->flush(); }).has_value();
    if (!failed && known.lacks && !known.unsure && !died_)
      throw std::runtime_error("a flush of " + found->first +
                               " succeeded after a failed call that was not repeated");
  }

  const uint64_t seed_;
  Random random_;
  const int hosts_;
  std::vector<std::shared_ptr<ContainerSet>> sets_;
  std::map<std::string, std::shared_ptr<ContainerStream>> streams_;
  std::map<std::string, KnownStream> known_;
  int calls_ = 0;
  bool died_ = false;
};

void run_streams(uint64_t seed, std::string& told) {
  const int hosts = 1 + static_cast<int>(seed % 3);
  const std::string name = "campaign" + std::to_string(seed);
  Injection injection;
  {
    MemoryStore memory;
    FaultyStore store(memory);
    StreamProgram program(seed, hosts);
    const int calls = program.run(store, name + "a");
    program.check(memory);
    program.gather_and_check(memory, true);
    injection =
        draw_injection(seed, {Failure::once, Failure::several, Failure::from_then_on, Failure::killed},
                       store.operations(), std::max(calls, 1));
  }
  told = injection.describe();
  MemoryStore memory;
  StreamProgram program(seed, hosts);
  if (injection.ends_job()) injection.plan.when_reached = [&] { program.die(); };
  FaultyStore store(memory, injection.plan);
  program.run(store, name + "b");
  program.check(memory);
  program.gather_and_check(memory, injection.failure == Failure::once);
}

TEST(StreamsCampaign, KeepsAcceptedBytes) {
  const uint64_t one = variable("SHEAF_CAMPAIGN_SEED", 0);
  const uint64_t last = one ? one : variable("SHEAF_CAMPAIGN_CASES", 150);
  for (uint64_t seed = one ? one : variable("SHEAF_CAMPAIGN_FIRST", 1); seed <= last; ++seed) {
    std::string told = "no failure";
    try {
      run_streams(seed, told);
    } catch (const std::exception& e) {
      ADD_FAILURE() << "SHEAF_CAMPAIGN_SEED=" << seed << ": " << e.what() << "\n" << told;
      if (variable("SHEAF_CAMPAIGN_STOP", 1)) return;
    }
  }
}

}  // namespace
}  // namespace sheaf::test::campaign
