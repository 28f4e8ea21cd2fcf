// Fonts for pages. They are opened when a text first needs them, which is in the sandbox.
#include "CMedia.h"
#include "sandbox.h"
#include <fontconfig/fontconfig.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { folder_limit = 64, linked_limit = 4096 };

static int is_below(const char *path, const char *const *folders, size_t count) {
    for (size_t index = 0; index < count; index++) {
        size_t length = strlen(folders[index]);
        if (strncmp(path, folders[index], length) == 0 && path[length] == '/') return 1;
    }
    return 0;
}

// The folders of fonts and of what fontconfig knows of them, by their real paths.
static size_t add_folders(FcStrList *list, const char **paths, size_t count) {
    if (list == NULL) return count;
    FcStrListFirst(list);
    for (FcChar8 *folder; count < folder_limit && (folder = FcStrListNext(list)) != NULL;) {
        char *real = realpath((const char *)folder, NULL);
        if (real != NULL) paths[count++] = real;
    }
    FcStrListDone(list);
    return count;
}

const char *cmedia_load_fonts(void) {
    if (!FcInit()) return "fontconfig cannot be started";
    FcConfig *config = FcConfigGetCurrent();
    // It would look at the folders again each 30 seconds.
    FcConfigSetRescanInterval(config, 0);
    const FcFontSet *fonts = FcConfigGetFonts(config, FcSetSystem);
    if (fonts == NULL || fonts->nfont == 0) return "there are no fonts, such as those of fonts-dejavu-core";
    static const char *paths[folder_limit + linked_limit];
    size_t count = add_folders(FcConfigGetFontDirs(config), paths, 0);
    count = add_folders(FcConfigGetCacheDirs(config), paths, count);
    size_t folder_count = count;
    // Some packages link to fonts that lie elsewhere.
    for (int index = 0; index < fonts->nfont && count < folder_limit + linked_limit; index++) {
        FcChar8 *file = NULL;
        if (FcPatternGetString(fonts->fonts[index], FC_FILE, 0, &file) != FcResultMatch) continue;
        char *real = realpath((const char *)file, NULL);
        if (real != NULL && !is_below(real, paths, folder_count)) paths[count++] = real;
        else free(real);
    }
    // Before any thread is there: Landlock is of the thread, and of those that it starts.
    cmedia_allow_paths(paths, count);
    // Without it, no path can be opened later, and only these fonts are there.
    cmedia_pages_rehearse();
    return NULL;
}
