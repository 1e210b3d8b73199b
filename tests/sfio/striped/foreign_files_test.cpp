// Requests of a client that an I/O listener must reject: files that are no subfiles, and names that lead out
// of its directory.
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "sfio/direct_link.hpp"
#include "sfio/service/service.hpp"
#include "sfio/striped/cluster.hpp"

namespace sheaf::test::foreign_files_test {

using namespace sfio;

namespace {

namespace fs = std::filesystem;

format::StripeIdentity identity() {
  format::StripeIdentity of;
  of.file = {7, 9};
  of.unit = 100;
  of.count = 1;
  return of;
}

Request request_of(RequestKind kind, std::string path, std::string more = {},
                   SubfileOpenMode mode = SubfileOpenMode::create) {
  Request request;
  request.kind = kind;
  request.path = std::move(path);
  request.more = kind == RequestKind::open ? format::to_bytes(identity()) : std::move(more);
  request.values = {static_cast<int64_t>(mode), 1};
  return request;
}

Code ask(Service& service, const Request& request) {
  return static_cast<Code>(service.carry_out(request, {}).code);
}

std::vector<std::byte> bytes(std::string_view text) {
  const auto view = std::as_bytes(std::span(text));
  return {view.begin(), view.end()};
}

struct Root {
  Root() {
    std::string name = (fs::temp_directory_path() / "sheaf_stripes_XXXXXX").string();
    if (!::mkdtemp(name.data())) throw os_error("cannot create", name, errno);
    top = name;
    fs::create_directories(top / "root/n0");
    for (const char* file : {"secret", "secret.sfio", "root/n0/mine"}) std::ofstream(top / file) << "kept";
    fs::create_symlink("../../secret", top / "root/n0/link");
    fs::create_directory_symlink("../..", top / "root/n0/up");
  }
  ~Root() { fs::remove_all(top); }
  std::string read(const char* name) const {
    std::ifstream in(top / name);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  fs::path top;
};

TEST(ForeignFiles, NoRequestLeavesTheRoot) {
  const Root at;
  Service service(posix_store(), (at.top / "root/n0").string(), 1 << 16);
  for (const std::string path :
       {"../../secret", "/../../secret", "up/secret", "link", "/x/../../../secret", "/up/new", ".."}) {
    for (const SubfileOpenMode mode :
         {SubfileOpenMode::read, SubfileOpenMode::write, SubfileOpenMode::create, SubfileOpenMode::fresh})
      EXPECT_NE(ask(service, request_of(RequestKind::open, path, {}, mode)), Code::ok) << path;
    EXPECT_NE(ask(service, request_of(RequestKind::status, path)), Code::ok) << path;
    EXPECT_NE(ask(service, request_of(RequestKind::remove, path)), Code::ok) << path;
    EXPECT_NE(ask(service, request_of(RequestKind::rename, "/mine", path)), Code::ok) << path;
    EXPECT_NE(ask(service, request_of(RequestKind::rename, path, "/new")), Code::ok) << path;
  }
  EXPECT_EQ(at.read("secret"), "kept");
  EXPECT_EQ(at.read("secret.sfio"), "kept");
  EXPECT_FALSE(fs::exists(at.top / "new"));
}

TEST(ForeignFiles, NamesWithZerosAndWithoutLettersAreRefused) {
  MemoryStore store;
  store.set_contents("/mine", bytes("kept"));
  Service service(store, "", 1 << 16);
  for (const auto& path : {std::string("/mine\0", 6), std::string("/mine\0x", 7), std::string()})
    for (const RequestKind kind :
         {RequestKind::status, RequestKind::open, RequestKind::remove, RequestKind::rename})
      EXPECT_EQ(ask(service, request_of(kind, path, "/new")), Code::invalid_argument);
  EXPECT_EQ(ask(service, request_of(RequestKind::rename, "/other", std::string("/mine\0", 6))),
            Code::invalid_argument);
  EXPECT_EQ(store.contents("/mine"), bytes("kept"));
  EXPECT_EQ(store.paths(), std::vector<std::string>{"/mine"});
}

// A file lacks its identity, or has a foreign or empty file in place of the identity. The listener must not
// remove, rename or replace it.
TEST(ForeignFiles, AreNotRemovedRenamedOrReplaced) {
  for (const char* beside : {"", "text that is no identity", "empty"}) {
    SCOPED_TRACE(beside);
    MemoryStore store;
    store.set_contents("/mine", bytes("kept"));
    if (*beside) store.set_contents("/mine.sfio", bytes(std::string_view(beside) == "empty" ? "" : beside));
    Service service(store, "", 1 << 16);
    EXPECT_EQ(ask(service, request_of(RequestKind::open, "/own")), Code::ok);
    const auto before = store.paths();
    EXPECT_EQ(ask(service, request_of(RequestKind::remove, "/mine")), Code::damaged);
    EXPECT_EQ(ask(service, request_of(RequestKind::rename, "/mine", "/new")), Code::damaged);
    EXPECT_EQ(ask(service, request_of(RequestKind::rename, "/own", "/mine")), Code::damaged);
    EXPECT_NE(ask(service, request_of(RequestKind::open, "/mine")), Code::ok);
    EXPECT_EQ(store.contents("/mine"), bytes("kept"));
    EXPECT_EQ(store.paths(), before);
  }
}

TEST(ForeignFiles, AnIdentitysPlaceThatIsTakenIsLeftAlone) {
  MemoryStore store;
  store.set_contents("/new.sfio", bytes("somebody else's notes"));
  Service service(store, "", 1 << 16);
  for (const SubfileOpenMode mode : {SubfileOpenMode::create, SubfileOpenMode::fresh})
    EXPECT_NE(ask(service, request_of(RequestKind::open, "/new", {}, mode)), Code::ok);
  EXPECT_EQ(ask(service, request_of(RequestKind::remove, "/new")), Code::damaged);
  EXPECT_EQ(store.contents("/new.sfio"), bytes("somebody else's notes"));
  EXPECT_EQ(store.paths(), std::vector<std::string>{"/new.sfio"});
}

TEST(ForeignFiles, WhatIsLeftOfSubfilesIsRemoved) {
  const std::string sound = format::to_bytes(identity());
  std::string damaged = sound;
  damaged[40] = 'x';
  for (const std::string& left :
       {sound, damaged, sound.substr(0, 20), std::string(), std::string(128, '\0')}) {
    MemoryStore store;
    store.set_contents("/own.sfio", bytes(left));
    if (left.size() > 20 && left != std::string(128, '\0')) store.set_contents("/own", bytes("data"));
    Service service(store, "", 1 << 16);
    EXPECT_EQ(ask(service, request_of(RequestKind::remove, "/own")), Code::ok);
    EXPECT_TRUE(store.paths().empty());
  }
}

// One of three subfiles is foreign. The listeners must not remove the other two.
TEST(ForeignFiles, NothingIsRemovedIfOneIsForeign) {
  StripedCluster cluster(1, 3);
  cluster.run([&](StripedCluster::ComputeTask& task) {
    open_named(task, name_on(3, 3), 100)->close();
    cluster.disks[1]->remove("/f.dat.sfio");
    std::string message;
    EXPECT_EQ(code_of([&] { remove_striped(*task.link, parse_stripe_name(name_on(3, 3))); }, &message),
              Code::damaged);
    EXPECT_NE(message.find("'/f.dat' on I/O listener 'host1' is no subfile"), std::string::npos) << message;
    EXPECT_EQ(code_of([&] {
                rename_striped(*task.link, parse_stripe_name(name_on(3, 3)),
                               parse_stripe_name(name_on(3, 3, "/g.dat")));
              }),
              Code::damaged);
  });
  for (const auto& disk : cluster.disks) EXPECT_TRUE(disk->status("/f.dat").exists);
}

TEST(ForeignFiles, HostsAreNoPaths) {
  const Root at;
  const auto link = direct_link(posix_store(), (at.top / "root").string(), "here");
  for (const char* host : {"..", ".", "n0/..", "/"})
    EXPECT_EQ(code_of([&] { look(*link, parse_stripe_name(std::string(host) + ",/secret;")); }),
              Code::invalid_argument)
        << host;
  EXPECT_TRUE(look(*link, parse_stripe_name("n0,/mine;"))[0].exists);
}

}  // namespace
}  // namespace sheaf::test::foreign_files_test
