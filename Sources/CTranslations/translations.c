#include "CTranslations.h"

#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char de[] = {
#embed "de.po"
};

backupfs_translation backupfs_translation_de(void) { return (backupfs_translation){de, sizeof de}; }

static const unsigned char kk[] = {
#embed "kk.po"
};

backupfs_translation backupfs_translation_kk(void) { return (backupfs_translation){kk, sizeof kk}; }

static const unsigned char ru[] = {
#embed "ru.po"
};

backupfs_translation backupfs_translation_ru(void) { return (backupfs_translation){ru, sizeof ru}; }

static const unsigned char tr[] = {
#embed "tr.po"
};

backupfs_translation backupfs_translation_tr(void) { return (backupfs_translation){tr, sizeof tr}; }
