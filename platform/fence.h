// What a run's program may not do to those who watch it: Landlock rules under which everything is allowed as
// before, but for writing below /sys and the control groups, and sending signals or attaching to processes
// outside.
//
// Promise: what the kernel lacks is left out and said by held_by(); nothing at all where files could not be
// renamed across directories any more (Landlock's first version). What is on the way to a place that must not
// be written is not writable itself: no new file beside /sys, that is in /. A process inside cannot mount.
// Owns: the rules. Threads: any; enter() is safe between fork and exec. Source: landlock(7).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "platform/containment.h"
#include "platform/landlock.h"

namespace repobridge::platform {

// Canonical paths. Each means everything below it too; where one lies within another, the inner one decides.
// What nobody names can be read and not written.
struct FencedPlaces {
  std::vector<std::string> unreadable;
  std::vector<std::string> readable;
  std::vector<std::string> writable;
};

class Fence {
 public:
  // Whatever fails leaves a fence that does not hold anything.
  static Fence build();
  // That of a room: nothing but the places can be written, the contents of the unreadable ones not be read,
  // and no abstract socket of somebody outside be reached. Holds nothing where the kernel has no Landlock.
  static Result<Fence> around(const FencedPlaces& places);

  [[nodiscard]] bool holds() const { return rules_.has_value(); }
  // Notes its parts.
  void held_by(Containment& held) const;
  // The calling process and what it starts, for ever. Needs "no new privileges". False, with errno, when the
  // kernel does not let it.
  [[nodiscard]] bool enter() const;

 private:
  static Result<Fence> build(int version);
  int version_ = 0;
  std::optional<landlock::Ruleset> rules_;
};

}  // namespace repobridge::platform
