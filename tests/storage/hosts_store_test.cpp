// Simulated hosts behave like hosts over NFS. They lose each other's bytes in a page, see stale bytes until
// the next open, hold locks invisible to other hosts, and know names of removed files. These events are
// counted.
#include "support/hosts_store.hpp"

#include "hosts_cluster.hpp"
#include "testing.hpp"

namespace sheaf::testing::hosts_store_test {
namespace {

using test::HostsOptions;

constexpr size_t page = 4096;

TEST(HostsLoseBytes, OfAPageThatBothWriteBeyondTheEndTheyKnow) {
  TwoHostCluster cluster;
  const auto a = cluster.a.open("f", Access::create);
  const auto b = cluster.b.open("f", Access::create);
  a->write_at(bytes("aaaa"), 0);
  b->write_at(bytes("bbbb"), 4);
  a->close();
  b->close();
  EXPECT_EQ(cluster.at_server("f"), std::string(4, '\0') + "bbbb");
  EXPECT_EQ(cluster.hosts.counts().shared_units, 1);
}

TEST(HostsLoseBytes, OfAPageThatBothHaveReadOrWriteInPart) {
  TwoHostCluster cluster;
  cluster.put("f", std::string(page, '.'));
  const auto a = cluster.a.open("f", Access::write);
  const auto b = cluster.b.open("f", Access::write);
  a->write_at(bytes("aaaa"), 0);
  b->write_at(bytes("bbbb"), 8);
  a->close();
  b->close();
  EXPECT_EQ(cluster.at_server("f").substr(0, 12), "........bbbb");
}

TEST(HostsKeepBytes, InPagesOfTheirOwn) {
  TwoHostCluster cluster({.unit = page});
  const auto a = cluster.a.open("f", Access::create);
  const auto b = cluster.b.open("f", Access::create);
  a->write_at(bytes(std::string(page, 'a')), 0);
  b->write_at(bytes("bbbb"), page + 7);
  b->close();
  a->close();
  EXPECT_EQ(cluster.at_server("f"), std::string(page, 'a') + std::string(7, '\0') + "bbbb");
  EXPECT_EQ(cluster.hosts.counts().shared_units, 0);
}

TEST(HostsKeepBytes, OfAPageWhereOnlyWrittenBytesAreWrittenBack) {
  for (const bool by_lock : {false, true}) {
    TwoHostCluster cluster({.writes_whole_pages = by_lock});
    cluster.put("f", std::string(page, '.'));
    const auto a = cluster.a.open("f", Access::write);
    const auto b = cluster.b.open("f", Access::write);
    RangeLock of_a, of_b;
    if (by_lock) {
      of_a = a->lock(0, 4, true);
      of_b = b->lock(8, 4, true);
    }
    a->write_at(bytes("aaaa"), 0);
    b->write_at(bytes("bbbb"), 8);
    a->close();
    b->close();
    EXPECT_EQ(cluster.at_server("f").substr(0, 12), "aaaa....bbbb");
  }
}

TEST(HostsKeepBytes, OfTwoPlacesInAPage) {
  TwoHostCluster cluster({.writes_whole_pages = false});
  cluster.put("f", std::string(2 * page, '.'));
  const auto a = cluster.a.open("f", Access::write);
  for (const int64_t at : {100, 4, 0, 200, 2}) a->write_at(bytes("aaa"), at);
  a->close();
  std::string expected(2 * page, '.');
  for (const size_t at : {100, 4, 0, 200, 2}) expected.replace(at, 3, "aaa");
  EXPECT_EQ(cluster.at_server("f"), expected);
}

// A host must not write back the bytes between its two written extents.
TEST(HostsKeepBytes, BetweenTwoPlacesThatAnotherHostWrites) {
  TwoHostCluster cluster;
  cluster.put("f", std::string(page, '.'));
  const auto a = cluster.a.open("f", Access::write);
  const auto b = cluster.b.open("f", Access::write);
  const RangeLock of_a = a->lock(0, 1, true);
  const RangeLock of_b = b->lock(0, 1, true);
  a->write_at(bytes("aaaa"), 0);
  b->write_at(bytes("bbbb"), 10);
  b->close();
  a->write_at(bytes("aaaa"), 20);
  a->close();
  EXPECT_EQ(cluster.at_server("f").substr(0, 24), "aaaa......bbbb......aaaa");
}

TEST(HostsReadOldBytes, UntilTheyOpenWhatWasClosed) {
  TwoHostCluster cluster;
  cluster.put("f", "old");
  const auto early = cluster.b.open("f", Access::read);
  EXPECT_EQ(all_of(*early), "old");
  const auto a = cluster.a.open("f", Access::write);
  a->write_at(bytes("new and longer"), 0);
  EXPECT_EQ(all_of(*cluster.b.open("f", Access::read)), "old");
  EXPECT_EQ(cluster.at_server("f"), "old");
  a->close();
  EXPECT_EQ(all_of(*early), "old");
  EXPECT_EQ(early->status().size, 3);
  EXPECT_EQ(cluster.b.status("f").size, 3);
  EXPECT_EQ(all_of(*cluster.b.open("f", Access::read)), "new and longer");
  EXPECT_EQ(early->status().size, 14);  // one cache for the whole host
  EXPECT_EQ(cluster.b.status("f").size, 14);
}

TEST(HostsReadOldBytes, UntilTheyOpenWhatWasSynced) {
  TwoHostCluster cluster;
  cluster.put("f", "old");
  const auto early = cluster.b.open("f", Access::read);
  EXPECT_EQ(all_of(*early), "old");
  const auto a = cluster.a.open("f", Access::write);
  a->write_at(bytes("new"), 0);
  a->sync();
  EXPECT_EQ(all_of(*early), "old");
  EXPECT_EQ(all_of(*cluster.b.open("f", Access::read)), "new");
}

TEST(HostsReadOldBytes, OfAFileThatAnotherHostHasMadeShorter) {
  TwoHostCluster cluster;
  cluster.put("f", "0123456789");
  const auto early = cluster.b.open("f", Access::write);
  EXPECT_EQ(all_of(*early), "0123456789");
  cluster.a.open("f", Access::write)->resize(4);
  EXPECT_EQ(all_of(*early), "0123456789");
  EXPECT_EQ(all_of(*cluster.b.open("f", Access::read)), "0123");
  early->resize(2);
  early->write_at(bytes("x"), 5);
  EXPECT_EQ(all_of(*early), std::string("01\0\0\0x", 6));
}

TEST(HostsReadOldBytes, EvenAfterOpeningIfTheyWroteThemselvesAndCannotTell) {
  for (const bool can_tell : {true, false}) {
    TwoHostCluster cluster({.answers_tell_change_before = can_tell});
    cluster.put("f", std::string(2 * page, '.'));
    const auto b = cluster.b.open("f", Access::write);
    EXPECT_EQ(read_text(*b, 0, 3), "...");
    const auto a = cluster.a.open("f", Access::write);
    a->write_at(bytes("aaa"), 0);
    a->close();
    b->write_at(bytes("bbb"), page);
    b->close();
    EXPECT_EQ(read_text(*cluster.b.open("f", Access::read), 0, 3), can_tell ? "aaa" : "...");
  }
}

TEST(HostsAgree, WhereTheFileSystemIsCoherent) {
  for (const auto coherence : {Coherence::local, Coherence::coherent}) {
    TwoHostCluster cluster({.coherence = coherence, .unit = page});
    const auto a = cluster.a.open("f", Access::create);
    const auto b = cluster.b.open("f", Access::create);
    a->write_at(bytes("aaaa"), 0);
    b->write_at(bytes("bb"), 2);
    EXPECT_EQ(all_of(*a), "aabb");
    EXPECT_EQ(all_of(*b), "aabb");
    EXPECT_EQ(b->status().size, 4);
    b->resize(1);
    EXPECT_EQ(a->status().size, 1);
    EXPECT_EQ(cluster.hosts.counts().shared_units, 1);
    cluster.a.remove("f");
    EXPECT_EQ(all_of(*b), "a");
  }
}

bool locks_here(Store& store, const std::string& path) {
  const auto file = store.open(path, Access::create);
  return bool(file->lock(0, 10, true, OnConflict::refusal));
}

TEST(HostsLocks, EndAtTheHost) {
  TwoHostCluster cluster({.locks = LockScope::host});
  const auto a = cluster.a.open("f", Access::create);
  RangeLock lock = a->lock(0, 10, true);
  EXPECT_FALSE(locks_here(cluster.neighbour, "f"));
  EXPECT_TRUE(locks_here(cluster.b, "f"));
  lock = {};
  EXPECT_TRUE(locks_here(cluster.neighbour, "f"));
}

TEST(HostsLocks, HoldEverywhereIfTheyAreGlobalOrTheFileSystemLocal) {
  for (const HostsOptions& options :
       {HostsOptions{.locks = LockScope::global},
        HostsOptions{.coherence = Coherence::local, .locks = LockScope::host}}) {
    TwoHostCluster cluster(options);
    const auto a = cluster.a.open("f", Access::create);
    RangeLock lock = a->lock(0, 10, true);
    EXPECT_FALSE(locks_here(cluster.neighbour, "f"));
    EXPECT_FALSE(locks_here(cluster.b, "f"));
    lock = {};
    EXPECT_TRUE(locks_here(cluster.b, "f"));
  }
}

TEST(HostsLocks, ThatAreNotThereAreRefused) {
  TwoHostCluster cluster({.locks = LockScope::none});
  const auto a = cluster.a.open("f", Access::create);
  for (const OnConflict on_conflict : {OnConflict::wait, OnConflict::refusal})
    EXPECT_EQ(error_of([&] { (void)a->lock(0, 10, true, on_conflict); }).errno_value(), ENOLCK);
}

TEST(HostsLocks, OfAllHostsBringBytesToTheNextHolder) {
  for (const bool revalidate : {true, false}) {
    TwoHostCluster cluster({.locks = LockScope::global, .locks_revalidate = revalidate});
    cluster.put("f", "0000");
    const auto a = cluster.a.open("f", Access::write);
    const auto b = cluster.b.open("f", Access::write);
    EXPECT_EQ(all_of(*b), "0000");
    {
      const RangeLock of_a = a->lock(0, 4, true);
      a->write_at(bytes("11"), 0);
    }
    RangeLock of_b = b->lock(0, 4, true);
    EXPECT_EQ(all_of(*b), revalidate ? "1100" : "0000");
    EXPECT_EQ(cluster.hosts.counts().foreign_bytes, revalidate ? 0 : 2);
    b->write_at(bytes("2"), 1);
    of_b = {};
    a->close();
    b->close();
    if (revalidate) {
      EXPECT_EQ(cluster.at_server("f"), "1200");
    }
  }
}

TEST(HostsNames, OfAFileThatWasMadeAnewAreStaleOnce) {
  TwoHostCluster cluster;
  cluster.put("f", "first");
  EXPECT_EQ(all_of(*cluster.b.open("f", Access::read)), "first");
  cluster.a.remove("f");
  cluster.put("f", "second");
  EXPECT_EQ(error_of([&] { cluster.b.open("f", Access::read); }).errno_value(), ESTALE);
  EXPECT_EQ(all_of(*cluster.b.open("f", Access::read)), "second");
  EXPECT_EQ(cluster.hosts.counts().stale_handles, 1);
}

TEST(HostsNames, OfAFileThatWasReplacedAreStaleOnceAndNotOnTheHostThatDidIt) {
  TwoHostCluster cluster;
  cluster.put("f", "first");
  cluster.put("new", "second");
  cluster.a.open("f", Access::read)->close();
  cluster.b.open("f", Access::read)->close();
  cluster.b.open("new", Access::read)->close();
  cluster.a.rename("new", "f");
  EXPECT_EQ(all_of(*cluster.a.open("f", Access::read)), "second");
  EXPECT_EQ(error_of([&] { cluster.b.status("f"); }).errno_value(), ESTALE);
  EXPECT_EQ(cluster.b.status("f").size, 6);
  EXPECT_EQ(error_of([&] { cluster.b.open("new", Access::read); }).errno_value(), ENOENT);
}

TEST(HostsNames, CanBeMadeAnewAtOnce) {
  for (const auto access : {Access::create, Access::fresh}) {
    TwoHostCluster cluster;
    cluster.put("f", "first");
    cluster.b.open("f", Access::read)->close();
    cluster.a.remove("f");
    EXPECT_EQ(all_of(*cluster.b.open("f", access)), "");
  }
}

TEST(HostsNames, ThatWereMissedAreMissedOnceMore) {
  for (const bool kept : {true, false}) {
    TwoHostCluster cluster({.absence_is_kept = kept});
    EXPECT_FALSE(cluster.b.status("f").exists);
    cluster.put("f", "x");
    EXPECT_EQ(cluster.b.status("f").exists, !kept);
    EXPECT_EQ(all_of(*cluster.b.open("f", Access::read)), "x");
  }
}

TEST(HostsFiles, ThatWereRemovedLiveOnTheirHostAndAreStaleOnOthers) {
  TwoHostCluster cluster;
  cluster.put("f", "bytes");
  const auto a = cluster.a.open("f", Access::write);
  const auto b = cluster.b.open("f", Access::write);
  cluster.a.remove("f");
  EXPECT_EQ(all_of(*a), "bytes");
  EXPECT_EQ(error_of([&] { all_of(*b); }).errno_value(), ESTALE);
  b->write_at(bytes("x"), page);  // the page is its own
  EXPECT_EQ(error_of([&] { b->sync(); }).errno_value(), ESTALE);
  EXPECT_EQ(error_of([&] { b->close(); }).errno_value(), ESTALE);
}

TEST(HostsTraits, SayWhatIsSimulated) {
  TwoHostCluster cluster({.locks = LockScope::none, .unit = 1 << 20});
  EXPECT_EQ(to_string(cluster.a.traits("f")),
            "nfs: close-to-open, locks none, unit 1 MiB, fallocate no, mmap no");
  TwoHostCluster local({.coherence = Coherence::local});
  EXPECT_EQ(to_string(local.b.traits("f")), "nfs: local, locks global, unit 64 KiB, fallocate no, mmap no");
}

}  // namespace
}  // namespace sheaf::testing::hosts_store_test
