// storage/posix/gluster_placement: where GlusterFS stores a file.
//
// A distributed volume stores each file in a brick, a directory of one host. A dispersed volume stores parts
// of each file on several hosts; it locks the file for a client that reads or writes, and requests of other
// clients wait for that lock.
#pragma once

#include <string_view>

#include "storage/store.hpp"

namespace sheaf {

// Returns the placement of an open file on GlusterFS. Asks the volume for the bricks of the file, which costs
// a message. Dispersed volumes may refuse that (GlusterFS 10); then looks at the translators of the mount.
FilePlacement gluster_placement(int fd);

// Returns the placement that the attribute glusterfs.pathinfo describes:
// "(<DISTRIBUTE:volume-dht> <POSIX(brick):host:brick/path>)". Unknown if there are several bricks, except in
// dispersed volumes.
FilePlacement placement_in(std::string_view pathinfo);

}  // namespace sheaf
