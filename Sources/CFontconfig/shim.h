// Only CMedia, which is in C, uses this library; its flags come from pkg-config.
#include <fontconfig/fontconfig.h>
