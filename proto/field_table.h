/* SPDX-License-Identifier: MIT */

/*
 * Included by fields.c once per message, with THIS and FIELDS defined: a row of a field list does
 * not name the structure it belongs to, and offsetof needs it. No include guard on purpose.
 */

#define FIELD_ROW_(key, wire_type, presence, most, text)                                           \
	{                                                                                          \
		.name = #key,                                                                      \
		.type = FIELD_##wire_type,                                                         \
		.required = PRESENCE_##presence,                                                   \
		.limit = most,                                                                     \
		.offset = offsetof(struct THIS, key),                                              \
		.has_offset = offsetof(struct THIS, has.key),                                      \
		.doc = text,                                                                       \
	},
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define QUOTE_(a) #a
#define QUOTE(a) QUOTE_(a)

static const struct field JOIN(THIS, _fields)[] = {FIELDS(FIELD_ROW_)};

const struct message_type JOIN(THIS, _type) = {
	.name = QUOTE(THIS),
	.fields = JOIN(THIS, _fields),
	.count = sizeof(JOIN(THIS, _fields)) / sizeof(struct field),
	.size = sizeof(struct THIS),
};

#undef QUOTE
#undef QUOTE_
#undef JOIN
#undef JOIN_
#undef FIELD_ROW_
#undef FIELDS
#undef THIS
