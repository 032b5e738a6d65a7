/* SPDX-License-Identifier: MIT */

/*
 * IANA's registries of special-purpose addresses, as tables; the first row that an address is within
 * decides. Of IPv4 the rest is public. Of IPv6 only 2000::/3 is in use as global unicast, so the rest
 * of it is public and all else is reserved, also what gets a meaning one day.
 *
 * What cannot be seen here: a translator whose prefix is a part of the public space (RFC 6052 lets
 * each network have its own). It is set up by who has the host's network.
 */
#include "address.h"

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"

struct range {
	uint8_t prefix[16];
	unsigned bits;
	enum address_kind kind;
};

static const struct range ipv4_ranges[] = {
	{{169, 254, 169, 254}, 32, ADDRESS_METADATA}, /* nearly all clouds */
	{{169, 254, 170, 2}, 32, ADDRESS_METADATA},   /* Amazon ECS */
	{{169, 254, 170, 23}, 32, ADDRESS_METADATA},  /* Amazon EKS */
	{{100, 100, 100, 200}, 32, ADDRESS_METADATA}, /* Alibaba */
	{{168, 63, 129, 16}, 32, ADDRESS_METADATA},   /* Azure; otherwise public */
	{{192, 0, 0, 192}, 32, ADDRESS_METADATA},     /* Oracle */
	{{0, 0, 0, 0}, 32, ADDRESS_UNSPECIFIED},
	{{0}, 8, ADDRESS_RESERVED},
	{{10}, 8, ADDRESS_PRIVATE},
	{{100, 64}, 10, ADDRESS_SHARED},
	{{127}, 8, ADDRESS_LOOPBACK},
	{{169, 254}, 16, ADDRESS_LINK_LOCAL},
	{{172, 16}, 12, ADDRESS_PRIVATE},
	{{192, 0, 0}, 24, ADDRESS_RESERVED},	 /* protocols' own */
	{{192, 0, 2}, 24, ADDRESS_RESERVED},	 /* documentation */
	{{192, 88, 99}, 24, ADDRESS_TRANSLATED}, /* 6to4 relays */
	{{192, 168}, 16, ADDRESS_PRIVATE},
	{{198, 18}, 15, ADDRESS_RESERVED},	/* measuring */
	{{198, 51, 100}, 24, ADDRESS_RESERVED}, /* documentation */
	{{203, 0, 113}, 24, ADDRESS_RESERVED},	/* documentation */
	{{224}, 4, ADDRESS_MULTICAST},
	{{240}, 4, ADDRESS_RESERVED}, /* broadcast with it */
	{{0}, 0, ADDRESS_PUBLIC},
};

static const struct range ipv6_ranges[] = {
	{{0xfd, 0x00, 0x0e, 0xc2, [14] = 0x02, 0x54}, 128, ADDRESS_METADATA}, /* Amazon */
	{{0xfd, 0x00, 0x0e, 0xc2, [15] = 0x23}, 128, ADDRESS_METADATA},	      /* Amazon EKS */
	{{0xfd, 0x20, 0x00, 0xce, [14] = 0x02, 0x54}, 128, ADDRESS_METADATA}, /* Google */
	{{0xfd, 0x00, 0x00, 0x42, [15] = 0x42}, 128, ADDRESS_METADATA},	      /* Scaleway */
	{{0xfe, 0x80, [12] = 169, 254, 169, 254}, 128, ADDRESS_METADATA},     /* OpenStack */
	{{0}, 128, ADDRESS_UNSPECIFIED},
	{{[15] = 1}, 128, ADDRESS_LOOPBACK},
	{{0}, 96, ADDRESS_MAPPED}, /* IPv4-compatible, the form before mapped */
	{{[10] = 0xff, 0xff}, 96, ADDRESS_MAPPED},
	{{[8] = 0xff, 0xff}, 96, ADDRESS_TRANSLATED},			/* SIIT */
	{{0x00, 0x64, 0xff, 0x9b}, 96, ADDRESS_TRANSLATED},		/* NAT64 */
	{{0x00, 0x64, 0xff, 0x9b, 0x00, 0x01}, 48, ADDRESS_TRANSLATED}, /* NAT64, local */
	{{0x20, 0x01}, 32, ADDRESS_TRANSLATED},				/* Teredo */
	{{0x20, 0x01}, 23, ADDRESS_RESERVED},				/* protocols' own */
	{{0x20, 0x01, 0x0d, 0xb8}, 32, ADDRESS_RESERVED},		/* documentation */
	{{0x20, 0x02}, 16, ADDRESS_TRANSLATED},				/* 6to4 */
	{{0x3f, 0xff}, 20, ADDRESS_RESERVED},				/* documentation */
	{{0x20}, 3, ADDRESS_PUBLIC},
	{{0xfc}, 7, ADDRESS_UNIQUE_LOCAL},
	{{0xfe, 0x80}, 10, ADDRESS_LINK_LOCAL},
	{{0xfe, 0xc0}, 10, ADDRESS_PRIVATE}, /* site-local, before unique local */
	{{0xff}, 8, ADDRESS_MULTICAST},
	{{0}, 0, ADDRESS_RESERVED},
};

static const char *const texts[ADDRESS_KINDS] = {
	[ADDRESS_PUBLIC] = "public",	       [ADDRESS_LOOPBACK] = "loopback",
	[ADDRESS_PRIVATE] = "private",	       [ADDRESS_SHARED] = "shared (carrier-grade NAT)",
	[ADDRESS_LINK_LOCAL] = "link-local",   [ADDRESS_MULTICAST] = "multicast",
	[ADDRESS_UNSPECIFIED] = "unspecified", [ADDRESS_UNIQUE_LOCAL] = "unique local",
	[ADDRESS_MAPPED] = "IPv4-mapped",      [ADDRESS_TRANSLATED] = "translated to IPv4",
	[ADDRESS_METADATA] = "cloud metadata", [ADDRESS_RESERVED] = "reserved",
};

static bool within(const uint8_t *address, const struct range *range)
{
	unsigned whole = range->bits / 8, rest = range->bits % 8;

	return memcmp(address, range->prefix, whole) == 0 &&
	       (rest == 0 || (address[whole] ^ range->prefix[whole]) >> (8 - rest) == 0);
}

static enum address_kind classify(const struct range *ranges, size_t count, const uint8_t *address)
{
	for (size_t i = 0; i < count; i++)
		if (within(address, &ranges[i]))
			return ranges[i].kind;
	return ADDRESS_RESERVED;
}

/* An IPv4 address in the last bytes, whatever the network before it. */
static bool is_isatap(const uint8_t address[16])
{
	return (address[8] & ~2) == 0 && address[9] == 0 && address[10] == 0x5e &&
	       address[11] == 0xfe;
}

enum address_kind address_classify(const struct sockaddr *address)
{
	const uint8_t *bytes;
	enum address_kind kind;

	switch (address->sa_family) {
	case AF_INET:
		bytes = (const uint8_t *)&((const struct sockaddr_in *)(const void *)address)
				->sin_addr;
		return classify(ipv4_ranges, ARRAY_SIZE(ipv4_ranges), bytes);
	case AF_INET6:
		bytes = ((const struct sockaddr_in6 *)(const void *)address)->sin6_addr.s6_addr;
		kind = classify(ipv6_ranges, ARRAY_SIZE(ipv6_ranges), bytes);
		return kind == ADDRESS_PUBLIC && is_isatap(bytes) ? ADDRESS_TRANSLATED : kind;
	default:
		return ADDRESS_RESERVED;
	}
}

const char *address_kind_text(enum address_kind kind)
{
	return kind < ADDRESS_KINDS ? texts[kind] : "unknown";
}
