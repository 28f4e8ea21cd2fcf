# backupfs: `make mount` is the short way from a clone to a mounted folder. `make help` lists the rest.

PREFIX ?= /usr/local

# Looked up only by the targets that build.
SWIFT_COMMAND = $(shell SWIFT='$(SWIFT)' mount-scripts/find-swift.sh)
# With the standard library inside, the program runs where no Swift is installed.
RELEASE = -c release --static-swift-stdlib --product backupfs
RELEASE_BINARY = .build/release/backupfs
# The helper that reads photos and draws pages, where the libraries for it are installed. It is not needed for anything else.
HAS_MEDIA = pkg-config --exists 'gexiv2 >= 0.14' 'vips >= 8.13' 'openh264 >= 2.3' 'pangocairo >= 1.50' 'cairo-pdf >= 1.16' fontconfig libseccomp
HAS_SERVE = pkg-config --exists 'libmicrohttpd >= 0.9.60'
RELEASE_SERVE = -c release --static-swift-stdlib --product backupfs-serve
RELEASE_MEDIA = -c release --static-swift-stdlib --product backupfs-media
# Tests drive the program that users run. It is also several times as fast as a debug build, and the tests start it thousands of times.
TESTS = BACKUPFS_STRICT=1 BACKUPFS_BINARY=$(CURDIR)/$(RELEASE_BINARY)
TEST_COMMAND = $(SWIFT_COMMAND) test --skip-build --disable-xctest
TEST_PROGRAM = .build/debug/backupfsPackageTests.xctest --testing-library swift-testing
RUN_TESTS = mount-scripts/run-tests.sh $(TEST_COMMAND)
PACKAGE_FOLDER = .build/package

.DEFAULT_GOAL := build
.PHONY: help build media serve mount umount test test-all crash-matrix check translations lint tidy dependencies test-dependencies toolchain fuse test-fuse bench bench-clean fuzz fuzz-photos photo-corpora soak two-hosts test-remotes test-pages test-desktop property \
	screenshot install uninstall deb test-deb clean

help:
	@echo 'make               build $(RELEASE_BINARY)'
	@echo 'make serve         install what `backupfs serve` needs, and build the helper for it, $(RELEASE_BINARY)-serve'
	@echo 'make media         install what reading photos needs, and build the helper for it, $(RELEASE_BINARY)-media'
	@echo 'make mount         install what is missing, build, make a store with sample data, mount it'
	@echo '                   (MOUNT=/some/folder, BACKUPFS_STORE=/some/store)'
	@echo 'make umount        unmount it again'
	@echo 'make test          install what tests need, check, build, run the tests: a part of the campaigns, another one in each run'
	@echo '                   (BACKUPFS_SKIP_MOUNTED_TESTS=1 where nothing can be mounted)'
	@echo 'make test-all      the same, then the long campaigns, one after the other: crash-matrix, test-remotes, test-pages,'
	@echo '                   test-desktop, soak, two-hosts,'
	@echo '                   property, fuzz, fuzz-photos (as root; some hours)'
	@echo 'make crash-matrix  kill, fill and break each call of restores, repairs, removals and prunes that changes a file: some hours'
	@echo '                   (BACKUPFS_CRASH_ONLY="merge, archive with media: kill": what begins so)'
	@echo 'make test-remotes  install Ceph (RADOS gateway), OpenStack Swift, the JuiceFS gateway and rclone, and test the program against them:'
	@echo '                   some minutes, 2 GB (SERVERS=radosgw,swift,juicefs,rclone)'
	@echo 'make test-desktop  install Thunar, Nautilus and Dolphin, and use the mounted folder and the menus in them'
	@echo 'make test-pages    install Chromium, and look at the pages of a mounted store in it, with the rules of axe-core'
	@echo 'make check         formatting, house rules, a build in which warnings are errors'
	@echo 'make translations  after texts were changed: bring the catalogs in Sources/CTranslations in step with them'
	@echo 'make bench         compare with restic and BorgBackup, the mount with others, repositories on a server with restic, exports and imports'
	@echo '                   with sqlite3 and Python, photos with ExifTool and vipsthumbnail, copies of cards with rsync, measure how soon the mount answers, and write'
	@echo '                   Docs/benchmarks.md: over an hour, 50 GB'
	@echo '                   (SECTIONS=backups,mounts,remote,records,responsiveness,photos,copy: one alone keeps what was found of the others;'
	@echo '                   ROUNDS=3, SCALE=0.05 for a trial, CORPORA=a,b,c,'
	@echo '                   PEERS=restic,borg,bindfs,disk,fuse-zip,ratarmount,sqlite3,python,exiftool,vipsthumbnail,rclone,rsync,cp,md5sum, PHOTOS=5000, BENCH_DIR=/var/tmp/backupfs-bench)'
	@echo 'make bench-clean   remove what that has made'
	@echo 'make fuzz          feed the readers of foreign files with inputs that a fuzzer makes (SECONDS=60 for each target,'
	@echo '                   TARGETS=json,wire,zip,crafted-zip,crafted-tar,drop,crafted-drop,journal,definition,record,label,source,directory,'
	@echo '                   list,pack-index,note,config,config-copy,register,catalog,settings,video,heif,maker-note,media-answer, SEED=1; RUNS=100000 in'
	@echo '                   place of SECONDS does the same each time; ADDRESS=1 finds wrong accesses to memory; KEEP=1 keeps new inputs)'
	@echo 'make fuzz-photos   feed the helper that reads photos with photos and clips that are changed at random, MINUTES=60 of it (SEED=1)'
	@echo 'make photo-corpora download the photos with which other programs are tested, read them, and compare with ExifTool'
	@echo 'make soak          back up, read, restore, prune and kill all at once, MINUTES=10 of it, then look at everything (SEED=7 makes'
	@echo '                   the same choices again; what failed stays in TMPDIR)'
	@echo 'make property      back up and restore databases and folders that are made from random numbers, MINUTES=10 of it'
	@echo 'make two-hosts     two hosts back up, forget and prune in one repository over sshfs, MINUTES=20 of it, one of them suspended now'
	@echo '                   and then; every backup must verify (as root)'
	@echo 'make screenshot    make the pictures in Docs/images again'
	@echo 'make install       install the program, man pages, completions, units and the mount helper (PREFIX=$(PREFIX), DESTDIR, SBINDIR=/usr/sbin)'
	@echo 'make uninstall     remove them from there'
	@echo 'make deb           make a Debian package in $(PACKAGE_FOLDER)'
	@echo 'make test-deb      install it in a clean Debian, try it there, and remove it (as root)'
	@echo 'make dependencies  install only what building and mounting need'
	@echo 'make clean         remove what was built'

toolchain:
	@SWIFT='$(SWIFT)' mount-scripts/find-swift.sh >/dev/null

dependencies: toolchain
	@mount-scripts/install-dependencies.sh build

test-dependencies: toolchain
	@mount-scripts/install-dependencies.sh test

fuse: dependencies
	@mount-scripts/check-fuse.sh mount

test-fuse: test-dependencies
	@mount-scripts/check-fuse.sh test

build: dependencies
	$(SWIFT_COMMAND) build $(RELEASE)
	@if $(HAS_SERVE) 2>/dev/null; then $(SWIFT_COMMAND) build $(RELEASE_SERVE); else rm -f $(RELEASE_BINARY)-serve; fi
	@if $(HAS_MEDIA) 2>/dev/null; then $(SWIFT_COMMAND) build $(RELEASE_MEDIA); else rm -f $(RELEASE_BINARY)-media; fi

# Also installs what it needs: libvips brings many libraries.
media: dependencies
	@mount-scripts/install-dependencies.sh media
	$(SWIFT_COMMAND) build $(RELEASE_MEDIA)

# The helper of `backupfs serve`, with the library that it needs.
serve: dependencies
	@mount-scripts/install-dependencies.sh serve
	$(SWIFT_COMMAND) build $(RELEASE_SERVE)

mount: fuse build
	@mount-scripts/mount-default.sh $(CURDIR)/$(RELEASE_BINARY)

umount:
	@$(RELEASE_BINARY) umount "$${MOUNT:-$$(if [ "$$(id -u)" -eq 0 ]; then echo /mnt/backups; else echo "$$HOME/backups"; fi)}"

lint: toolchain
	$(SWIFT_COMMAND) format lint --strict --parallel --recursive Sources Tests Package.swift

tidy:
	@mount-scripts/tidy.sh

check: lint tidy test-dependencies
	BACKUPFS_STRICT=1 $(SWIFT_COMMAND) build --build-tests
	@SWIFT='$(SWIFT)' mount-scripts/translations.sh check

# After texts were changed: adds the new ones to the catalogs, for a translator, and removes those that are gone.
translations: toolchain
	@mount-scripts/install-dependencies.sh media
	@mount-scripts/install-dependencies.sh serve
	BACKUPFS_STRICT=1 $(SWIFT_COMMAND) build
	@SWIFT='$(SWIFT)' mount-scripts/translations.sh update

# Of about the same amount of work each, and so many that there is always one that does not wait. TwoMachines waits for minutes.
TEST_SPLITS = 'BackupRepositoryTests\.' 'CopyVerifyTests\.' 'CrashMatrixTests\.' 'ObjectStorageTests\.' 'MountTests\.[A-L]' 'MountTests\.([M-SU-Z]|T[^w])' 'MountTests\.TwoMachines' 'OperationsTests\.[A-F]' 'OperationsTests\.[G-L]' 'OperationsTests\.[M-R]' 'OperationsTests\.[S-Z]' 'Photo(Data|s)Tests\.'
test: test-fuse check build
	$(TESTS) mount-scripts/run-tests.sh $(addprefix --split ,$(TEST_SPLITS)) $(TEST_PROGRAM)

# `make test-all CAMPAIGN_MINUTES=60`: of the soak and the two hosts; the fuzzer has half of it for each target.
CAMPAIGN_MINUTES ?= 20
test-all: export BACKUPFS_ROUNDS = all
test-all: test
	$(MAKE) crash-matrix
	$(MAKE) test-remotes
	$(MAKE) test-pages
	$(MAKE) test-desktop
	$(MAKE) soak MINUTES=$(CAMPAIGN_MINUTES)
	$(MAKE) two-hosts MINUTES=$(CAMPAIGN_MINUTES)
	$(MAKE) property MINUTES=$(CAMPAIGN_MINUTES)
	$(MAKE) fuzz SECONDS=$$(($(CAMPAIGN_MINUTES) * 30))
	$(MAKE) fuzz-photos MINUTES=$(CAMPAIGN_MINUTES)

# All points of what `make test` takes a part of.
crash-matrix: test-fuse check build
	$(TESTS) BACKUPFS_CRASH_MATRIX=$${BACKUPFS_CRASH_MATRIX:-all} $(RUN_TESTS) --filter CrashMatrixTests

# Object servers besides the one of `make test`. One that cannot be installed is left out, and the installation says so.
test-remotes: test-fuse check build
	@mount-scripts/install-dependencies.sh remotes
	$(TESTS) BACKUPFS_REMOTE_SERVERS=$(or $(SERVERS),all) $(RUN_TESTS) --filter 'OtherServersTests|S3StoragePromiseTests'

# With PICTURES=FOLDER, leaves a picture of each step.
test-desktop: test-fuse build
	@mount-scripts/install-dependencies.sh desktop
	mount-scripts/desktop/check.sh $(CURDIR)/$(RELEASE_BINARY) $(PICTURES)

# With PICTURES=Docs/images, also makes the pictures of pages again.
test-pages: test-fuse build
	@mount-scripts/install-dependencies.sh pages
	"$${BACKUPFS_TEST_TOOLS:-$${XDG_CACHE_HOME:-$$HOME/.cache}/backupfs-test}/venv/bin/python3" mount-scripts/pages/check.py $(RELEASE_BINARY) $(PICTURES)

# make hands down what is set in the environment or on its command line.
bench: build
	@mount-scripts/bench/run.sh $(CURDIR)/$(RELEASE_BINARY)

bench-clean:
	@mount-scripts/bench/clean.sh

# A build of its own, in .build/fuzz, whose modules count what they reach. As arguments: bash has a SECONDS of its own.
fuzz: dependencies
	@SWIFT='$(SWIFT)' nice mount-scripts/fuzz.sh '$(SECONDS)' '$(TARGETS)' '$(SEED)'

# Its findings stay in .build/photo-findings.
fuzz-photos: build
	@mount-scripts/install-dependencies.sh test
	nice -n 19 python3 mount-scripts/photos/fuzz.py $(CURDIR)/$(RELEASE_BINARY) $(or $(MINUTES),60) $(or $(SEED),1)

photo-corpora: build
	@mount-scripts/install-dependencies.sh test
	mount-scripts/photo-corpora.sh $(CURDIR)/$(RELEASE_BINARY)

# Two hosts with one repository, one of which is suspended now and then: as root, with sshfs and a server on the loopback address.
two-hosts: fuse build
	@mount-scripts/install-dependencies.sh hosts
	mount-scripts/two-hosts.sh $(CURDIR)/$(RELEASE_BINARY) $(or $(MINUTES),20)

# `nice`: it keeps all processors busy. Its figures are the lines that begin with "soak:".
soak: test-fuse check build
	$(TESTS) BACKUPFS_SOAK_MINUTES=$(or $(MINUTES),10) BACKUPFS_SOAK_SEED=$(SEED) nice $(RUN_TESTS) --filter SoakTests

# Databases and trees of files from random numbers, as long as is said. What fails names its number.
property: test-fuse check build
	$(TESTS) BACKUPFS_PROPERTY_MINUTES=$(or $(MINUTES),10) $(RUN_TESTS) --filter 'GeneratedDatabaseTests|GeneratedMetadataTests'

# The picture in README.md, of a store and a mount that are there for this alone, and those of reports, which a test makes (as root).
screenshot: fuse check build media
	@mount-scripts/install-dependencies.sh screenshot
	@mount-scripts/screenshot.sh $(CURDIR)/$(RELEASE_BINARY)
	$(TESTS) BACKUPFS_PICTURES=$(CURDIR)/Docs/images $(RUN_TESTS) --filter ReportPictureTests

# No dependency on `build`: `sudo make install` must not build as root what was built by another user.
install uninstall: export BINARY = $(CURDIR)/$(RELEASE_BINARY)
install uninstall: export PREFIX := $(PREFIX)
install:
	@mount-scripts/install.sh install

uninstall:
	@mount-scripts/install.sh uninstall

deb: build serve
	@mount-scripts/install-dependencies.sh package
	@mount-scripts/package/build-deb.sh $(RELEASE_BINARY) $(PACKAGE_FOLDER)

# Not among the tests of `make test`: it makes a whole Debian first. No dependency on `deb`, as for `install`.
test-deb:
	@mount-scripts/install-dependencies.sh package-test
	@mount-scripts/package/test-deb.sh "$$(ls -t $(PACKAGE_FOLDER)/*.deb 2>/dev/null | head -n 1)"

clean:
	rm -rf .build
