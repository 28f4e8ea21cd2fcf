// Only CMedia, which is in C, uses this library; its flags come from pkg-config.
#include <wels/codec_api.h>
