// Only CMedia, which is in C, uses these libraries; their flags come from pkg-config.
#include <cairo-pdf.h>
#include <pango/pangocairo.h>
