/* SPDX-License-Identifier: MIT */
#pragma once

#include <sys/socket.h>

/*
 * Whether an address is one of the public internet, and what else it is. Pure.
 *
 * A name may be made to lead anywhere by whoever has its zone, so what it led to is asked again here,
 * each address of it, and whatever is not public is not connected to.
 */
enum address_kind {
	ADDRESS_PUBLIC,
	ADDRESS_LOOPBACK,
	ADDRESS_PRIVATE,
	ADDRESS_SHARED, /* behind the provider's NAT */
	ADDRESS_LINK_LOCAL,
	ADDRESS_MULTICAST,
	ADDRESS_UNSPECIFIED,
	ADDRESS_UNIQUE_LOCAL,
	ADDRESS_MAPPED, /* an IPv4 address as an IPv6 one */
	ADDRESS_TRANSLATED, /* an IPv4 address within an IPv6 one, which something on the way takes out */
	ADDRESS_METADATA, /* where clouds tell a machine its own secrets */
	ADDRESS_RESERVED, /* and what is no internet address at all */
	ADDRESS_KINDS,
};

/* As long as its family says. */
enum address_kind address_classify(const struct sockaddr *address);
/* "loopback", "link-local", ... */
const char *address_kind_text(enum address_kind kind);
