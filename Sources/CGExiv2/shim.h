// Only CMedia, which is in C, uses this library; its flags come from pkg-config.
#include <gexiv2/gexiv2.h>
