/*
 * js_property: the names that JavaScript allows in \p{…}, in PCRE2's spelling. JavaScript takes
 * general categories (short and long), Script=, Script_Extensions=, and the binary properties below,
 * each in exact case; PCRE2 knows the short categories, scripts and nearly all of those properties.
 */
#include "regex/js.h"

struct category {
	const char *brief, *names[3];
};

/* clang-format off */
static const struct category categories[] = {
	{ "L&", { "LC", "Cased_Letter" } },   { "C", { "Other" } },                 { "Cc", { "Control", "cntrl" } },
	{ "Cf", { "Format" } },               { "Cn", { "Unassigned" } },           { "Co", { "Private_Use" } },
	{ "Cs", { "Surrogate" } },            { "L", { "Letter" } },                { "Ll", { "Lowercase_Letter" } },
	{ "Lm", { "Modifier_Letter" } },      { "Lo", { "Other_Letter" } },         { "Lt", { "Titlecase_Letter" } },
	{ "Lu", { "Uppercase_Letter" } },     { "M", { "Mark", "Combining_Mark" } }, { "Mc", { "Spacing_Mark" } },
	{ "Me", { "Enclosing_Mark" } },       { "Mn", { "Nonspacing_Mark" } },      { "N", { "Number" } },
	{ "Nd", { "Decimal_Number", "digit" } }, { "Nl", { "Letter_Number" } },     { "No", { "Other_Number" } },
	{ "P", { "Punctuation", "punct" } },  { "Pc", { "Connector_Punctuation" } }, { "Pd", { "Dash_Punctuation" } },
	{ "Pe", { "Close_Punctuation" } },    { "Pf", { "Final_Punctuation" } },    { "Pi", { "Initial_Punctuation" } },
	{ "Po", { "Other_Punctuation" } },    { "Ps", { "Open_Punctuation" } },     { "S", { "Symbol" } },
	{ "Sc", { "Currency_Symbol" } },      { "Sk", { "Modifier_Symbol" } },      { "Sm", { "Math_Symbol" } },
	{ "So", { "Other_Symbol" } },         { "Z", { "Separator" } },             { "Zl", { "Line_Separator" } },
	{ "Zp", { "Paragraph_Separator" } },  { "Zs", { "Space_Separator" } },
};

static const char *const binaries[] = {
	"ASCII", "ASCII_Hex_Digit", "AHex", "Alphabetic", "Alpha", "Any", "Bidi_Control", "Bidi_C", "Bidi_Mirrored", "Bidi_M",
	"Case_Ignorable", "CI", "Cased", "Changes_When_Casefolded", "CWCF", "Changes_When_Casemapped", "CWCM",
	"Changes_When_Lowercased", "CWL", "Changes_When_NFKC_Casefolded", "CWKCF", "Changes_When_Titlecased", "CWT",
	"Changes_When_Uppercased", "CWU", "Dash", "Default_Ignorable_Code_Point", "DI", "Deprecated", "Dep", "Diacritic", "Dia",
	"Emoji", "Emoji_Component", "EComp", "Emoji_Modifier", "EMod", "Emoji_Modifier_Base", "EBase", "Emoji_Presentation",
	"EPres", "Extended_Pictographic", "ExtPict", "Extender", "Ext", "Grapheme_Base", "Gr_Base", "Grapheme_Extend", "Gr_Ext",
	"Hex_Digit", "Hex", "IDS_Binary_Operator", "IDSB", "IDS_Trinary_Operator", "IDST", "ID_Continue", "IDC", "ID_Start", "IDS",
	"Ideographic", "Ideo", "Join_Control", "Join_C", "Logical_Order_Exception", "LOE", "Lowercase", "Lower", "Math",
	"Noncharacter_Code_Point", "NChar", "Pattern_Syntax", "Pat_Syn", "Pattern_White_Space", "Pat_WS", "Quotation_Mark",
	"QMark", "Radical", "Regional_Indicator", "RI", "Sentence_Terminal", "STerm", "Soft_Dotted", "SD", "Terminal_Punctuation",
	"Term", "Unified_Ideograph", "UIdeo", "Uppercase", "Upper", "Variation_Selector", "VS", "White_Space", "space",
	"XID_Continue", "XIDC", "XID_Start", "XIDS",
};
/* clang-format on */

static struct str
category(struct str name)
{
	for (size_t i = 0; i < sizeof categories / sizeof categories[0]; i++) {
		const struct category *c = &categories[i];

		if (str_is(name, c->brief) && c->brief[1] != '&')
			return name;
		for (size_t j = 0; j < 3 && c->names[j] != NULL; j++)
			if (str_is(name, c->names[j]))
				return str_c(c->brief);
	}
	return STR_NULL;
}

static bool
plain_word(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!((s.p[i] | 0x20) >= 'a' && (s.p[i] | 0x20) <= 'z') &&
		    !(s.p[i] >= '0' && s.p[i] <= '9') && s.p[i] != '_')
			return false;
	return s.n > 0;
}

struct str
js_property(struct arena *a, struct str name, bool *invert_out)
{
	size_t eq = str_chr(name, '=', 0);
	struct str key = str_sub(name, 0, eq),
		   value = eq == STR_NPOS ? STR_NULL : str_sub(name, eq + 1, name.n);
	struct str found;

	*invert_out = false;
	if (eq != STR_NPOS) {
		if (!plain_word(value))
			return STR_NULL;
		if (str_is(key, "General_Category") || str_is(key, "gc"))
			return category(value);
		if (str_is(key, "Script") || str_is(key, "sc"))
			return str_c(arena_printf(a, "sc:%.*s", STR_ARG(value)));
		if (str_is(key, "Script_Extensions") || str_is(key, "scx"))
			return str_c(arena_printf(a, "scx:%.*s", STR_ARG(value)));
		return STR_NULL;
	}
	if (str_is(name, "Assigned")) {
		*invert_out = true;
		return STR("Cn");
	}
	found = category(name);
	if (found.p != NULL)
		return found;
	for (size_t i = 0; i < sizeof binaries / sizeof binaries[0]; i++)
		if (str_is(name, binaries[i]))
			return name;
	return STR_NULL;
}
