/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdint.h>

#include "base/fault.h"

/*
 * The proxy's listener as it comes out of a sandbox: what is accepted is a TCP socket of IPv4 that
 * listens on 127.0.0.1 and CONTROL_PROXY_PORT, and that belongs to the network namespace that HELLO
 * told, which is not ours. On anything else the keeper would serve somebody else, or be read by what
 * it should not even know. FAULT: void sandbox_unavailable.
 */
int listener_check(int fd, uint64_t theirs, uint64_t own, struct fault *ret_fault);
