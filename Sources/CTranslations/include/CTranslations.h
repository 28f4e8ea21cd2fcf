#ifndef BACKUPFS_TRANSLATIONS_H
#define BACKUPFS_TRANSLATIONS_H

/* The .po files beside the C file, whole. The C compiler embeds them: an array of so many numbers takes Swift's a minute. */
typedef struct {
    const unsigned char *bytes;
    unsigned long count;
} backupfs_translation;

backupfs_translation backupfs_translation_de(void);
backupfs_translation backupfs_translation_kk(void);
backupfs_translation backupfs_translation_ru(void);
backupfs_translation backupfs_translation_tr(void);

#endif
