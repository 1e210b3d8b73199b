// The periodic box, its division into one rectangular domain per task, and the migration of particles.
//
// The box is measured in collision cells of edge 1. Each task owns a block of whole cells. The collision grid
// is shifted by a random vector in every step; a particle belongs to the task that owns its *shifted* cell,
// so a collision cell never lies on two tasks, and no ghost particles are needed.
#pragma once

#include <mpi.h>

#include <array>
#include <cstdint>
#include <vector>

#include "particle.hpp"

namespace particles {

using Cells = std::array<int, 3>;
using Vector = std::array<double, 3>;

// Returns the index, along one direction, of the shifted cell that contains `x`. Requires x in [0, cells) and
// shift in [0, 1).
inline int shifted_cell(double x, double shift, int cells) {
  const int c = static_cast<int>(x + shift);
  return c >= cells ? c - cells : c;
}

class Domain {
 public:
  // Collective over `world`. Divides a box of `box` cells; throws if a direction has fewer cells than tasks.
  Domain(MPI_Comm world, Cells box);
  ~Domain();
  Domain(const Domain&) = delete;
  Domain& operator=(const Domain&) = delete;

  const Cells& box() const { return box_; }
  const Cells& tasks() const { return tasks_; }
  const Cells& low() const { return low_; }    // first own cell in each direction
  const Cells& high() const { return high_; }  // one past the last own cell
  std::size_t own_cells() const;

  // Collective. Moves every particle to the owner of its shifted cell, through as many neighbours as
  // necessary. One round suffices in a running simulation; a restart on another number of tasks needs more.
  // Leaves the particles in undefined order.
  void migrate(std::vector<Particle>& particles, const Vector& shift);

 private:
  int owner_along(int direction, int cell) const;
  void send_along(int direction, std::vector<Particle>& particles, double shift);
  void shift_exchange(int to, int from, const std::vector<Particle>& out, std::vector<Particle>& particles);
  bool is_home(const Particle& p, const Vector& shift) const;

  MPI_Comm cart_ = MPI_COMM_NULL;
  MPI_Datatype record_ = MPI_DATATYPE_NULL;
  Cells box_{}, tasks_{}, place_{}, low_{}, high_{};
  std::array<std::vector<Particle>, 2>
      leaving_;  // to the lower and to the upper neighbour; kept to avoid allocations
};

}  // namespace particles
