// Pages as a PDF, through pango and cairo. The texts are hostile: they come from the names and tags of photos and other files. Pictures stay the JPEG that they
// are: cairo looks at their header alone.
#include "CMedia.h"
#include <cairo-pdf.h>
#include <errno.h>
#include <pango/pangocairo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// A4, in points.
static const double page_width = 595.276, page_height = 841.89;
static const double margin = 45, footer_height = 20, column_gap = 13, row_gap = 14, text_gap = 4;
enum { column_count = 4, pending_limit = 8, caption_limit = 16, buffer_bytes = 1 << 16 };
// Longer texts end with an ellipsis.
enum { line_limit = 12, heading_line_limit = 4, caption_height_limit = 480 };
enum { table_column_limit = 8 };
static const double cell_padding = 3, cell_margin = 5, table_gap = 10, notice_padding = 9, logo_width = 150, logo_height = 44;

enum style {
    title_style, heading_style, subheading_style, paragraph_style, name_style, caption_style, cell_style, notice_style, style_count
};
static const char *const fonts[style_count] = {
    "Sans Bold 18", "Sans Bold 15", "Sans Bold 11", "Sans 9", "Sans Bold 7", "Sans 7", "Sans 7.5", "Sans Bold 12"};

// Of texts and of what is behind them: plain, good, bad, quiet, and the name of a fact.
static const double inks[CMEDIA_TONE_COUNT][3] = {
    {0.1, 0.1, 0.1}, {0.05, 0.42, 0.17}, {0.7, 0.07, 0.07}, {0.4, 0.4, 0.42}, {0.1, 0.1, 0.1}};
static const double papers[CMEDIA_TONE_COUNT][3] = {
    {0.94, 0.96, 1}, {0.9, 0.97, 0.91}, {0.99, 0.91, 0.9}, {0.95, 0.95, 0.95}, {1, 1, 1}};
static const double accent[3] = {0, 0.478, 1};

struct heading {
    int level;
    char *text;
    PangoLayout *layout;
};

struct figure {
    PangoLayout *captions[caption_limit];
    int caption_count;
    double caption_height;
    cairo_surface_t *picture; // Null for one that is not there: then this text is.
    PangoLayout *placeholder;
    double width, height;
};

// The one document of this process.
static struct {
    cairo_surface_t *surface;
    cairo_t *cairo;
    PangoContext *context;
    PangoFontDescription *fonts[style_count];
    double y;
    int page_count;
    int is_page_empty;
    int year_outline;
    struct heading pending[pending_limit]; // Headings stay with what follows them.
    int pending_count;
    struct figure row[column_count];
    int row_count;
    int has_accents;
    int page_total; // 0 when it is not known.
} document;

static struct {
    int is_begun; // It has a row, on this page.
    int column_count;
    int has_head;
    double widths[table_column_limit];
    int is_number[table_column_limit];
    PangoLayout *head[table_column_limit];
    double head_height;
} table;

static struct {
    unsigned char bytes[buffer_bytes];
    size_t count;
    uint64_t total;
    int error; // An errno.
} output;

// MARK: The file

static int flush_output(void) {
    size_t done = 0;
    while (done < output.count) {
        ssize_t written = write(1, output.bytes + done, output.count - done);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) {
            output.error = written < 0 ? errno : EIO;
            return -1;
        }
        done += (size_t)written;
    }
    output.total += output.count;
    output.count = 0;
    return 0;
}

static cairo_status_t write_output(void *context, const unsigned char *bytes, unsigned int count) {
    (void)context;
    // cairo goes on after an error.
    if (output.error != 0) return CAIRO_STATUS_WRITE_ERROR;
    while (count > 0) {
        size_t part = buffer_bytes - output.count < count ? buffer_bytes - output.count : count;
        memcpy(output.bytes + output.count, bytes, part);
        output.count += part;
        bytes += part;
        count -= (unsigned int)part;
        if (output.count == buffer_bytes && flush_output() != 0) return CAIRO_STATUS_WRITE_ERROR;
    }
    return CAIRO_STATUS_SUCCESS;
}

int cmedia_pages_write_error(void) { return output.error; }

static const char *problem(void) {
    cairo_status_t status = cairo_status(document.cairo);
    if (status == CAIRO_STATUS_SUCCESS) status = cairo_surface_status(document.surface);
    return status == CAIRO_STATUS_SUCCESS ? NULL : cairo_status_to_string(status);
}

// MARK: Texts

static PangoLayout *make_layout(const char *text, enum style style, double width, int line_count) {
    PangoLayout *layout = pango_layout_new(document.context);
    pango_layout_set_font_description(layout, document.fonts[style]);
    pango_layout_set_single_paragraph_mode(layout, style != paragraph_style);
    pango_layout_set_width(layout, (int)(width * PANGO_SCALE));
    pango_layout_set_wrap(layout, PANGO_WRAP_WORD_CHAR);
    if (line_count > 0) {
        pango_layout_set_height(layout, -line_count);
        pango_layout_set_ellipsize(layout, PANGO_ELLIPSIZE_END);
    }
    pango_layout_set_text(layout, text, -1);
    // A hyphen at the end of a line could be taken for a part of a name or a digest.
    PangoAttrList *attributes = pango_attr_list_new();
    pango_attr_list_insert(attributes, pango_attr_insert_hyphens_new(FALSE));
    pango_layout_set_attributes(layout, attributes);
    pango_attr_list_unref(attributes);
    return layout;
}

static double height_of(PangoLayout *layout) {
    int height = 0;
    pango_layout_get_size(layout, NULL, &height);
    return (double)height / PANGO_SCALE;
}

static void draw_layout(PangoLayout *layout, double x, double y, double grey) {
    cairo_set_source_rgb(document.cairo, grey, grey, grey);
    cairo_move_to(document.cairo, x, y);
    pango_cairo_show_layout(document.cairo, layout);
}

static void draw_tagged(PangoLayout *layout, const char *tag, double x, double y, double grey) {
    cairo_tag_begin(document.cairo, tag, NULL);
    draw_layout(layout, x, y, grey);
    cairo_tag_end(document.cairo, tag);
}

// MARK: Pages

static void end_page(void) {
    char number[32];
    snprintf(number, sizeof number, document.page_total > 0 ? "%d / %d" : "%d", document.page_count, document.page_total);
    PangoLayout *layout = make_layout(number, caption_style, page_width - 2 * margin, 1);
    pango_layout_set_alignment(layout, PANGO_ALIGN_CENTER);
    draw_layout(layout, margin, page_height - margin, 0.4);
    g_object_unref(layout);
    cairo_show_page(document.cairo);
}

static void begin_page(void) {
    document.page_count++;
    document.y = margin;
    document.is_page_empty = 1;
}

static double page_end(void) { return page_height - margin - footer_height; }

// A new page, unless there is room for this height.
static void make_room(double height) {
    if (document.is_page_empty || document.y + height <= page_end()) return;
    end_page();
    begin_page();
}

static double space_before(const struct heading *heading) { return heading->level == 1 ? 16 : 8; }

static double pending_height(void) {
    double height = 0;
    for (int index = 0; index < document.pending_count; index++)
        height += space_before(&document.pending[index]) + height_of(document.pending[index].layout) + 6;
    return height;
}

static void draw_rule(double y, const double colour[3], double width) {
    cairo_set_source_rgb(document.cairo, colour[0], colour[1], colour[2]);
    cairo_rectangle(document.cairo, margin, y - width / 2, page_width - 2 * margin, width);
    cairo_fill(document.cairo);
}

static void draw_pending(void) {
    static const char *const tags[] = {"H2", "H3", "H4"};
    for (int index = 0; index < document.pending_count; index++) {
        struct heading *heading = &document.pending[index];
        if (!document.is_page_empty) document.y += space_before(heading);
        char place[64];
        snprintf(place, sizeof place, "page=%d pos=[%d %d]", document.page_count, (int)margin, (int)document.y);
        int parent = heading->level == 1 ? CAIRO_PDF_OUTLINE_ROOT : document.year_outline;
        int outline = cairo_pdf_surface_add_outline(document.surface, parent, heading->text, place, 0);
        if (heading->level == 1) document.year_outline = outline;
        draw_tagged(heading->layout, tags[heading->level - 1], margin, document.y, 0);
        document.y += height_of(heading->layout) + 6;
        if (document.has_accents && heading->level == 1) draw_rule(document.y - 3, accent, 1);
        document.is_page_empty = 0;
        g_object_unref(heading->layout);
        free(heading->text);
    }
    document.pending_count = 0;
}

static void draw_figure(const struct figure *figure, double x, double picture_height) {
    cairo_t *cairo = document.cairo;
    cairo_tag_begin(cairo, "Figure", NULL);
    if (figure->picture != NULL) {
        int width = cairo_image_surface_get_width(figure->picture);
        cairo_save(cairo);
        cairo_translate(cairo, x, document.y + picture_height - figure->height);
        cairo_scale(cairo, figure->width / width, figure->width / width);
        cairo_set_source_surface(cairo, figure->picture, 0, 0);
        // Not a paint: as the first one of a page, that would drop the tag that was just begun.
        cairo_rectangle(cairo, 0, 0, width, cairo_image_surface_get_height(figure->picture));
        cairo_fill(cairo);
        cairo_restore(cairo);
    } else {
        double y = document.y + picture_height - figure->height;
        cairo_set_source_rgb(cairo, 0.92, 0.92, 0.92);
        cairo_rectangle(cairo, x, y, figure->width, figure->height);
        cairo_fill(cairo);
        draw_layout(figure->placeholder, x + 4, y + (figure->height - height_of(figure->placeholder)) / 2, 0.35);
    }
    cairo_tag_end(cairo, "Figure");
    cairo_tag_begin(cairo, "Caption", NULL);
    double y = document.y + picture_height + text_gap;
    for (int index = 0; index < figure->caption_count; index++) {
        draw_layout(figure->captions[index], x, y, index == 0 ? 0 : 0.25);
        y += height_of(figure->captions[index]);
    }
    cairo_tag_end(cairo, "Caption");
}

static double column_width(void) { return (page_width - 2 * margin - (column_count - 1) * column_gap) / column_count; }

static void end_row(void) {
    if (document.row_count == 0) return;
    double picture_height = 0, caption_height = 0;
    for (int index = 0; index < document.row_count; index++) {
        if (document.row[index].height > picture_height) picture_height = document.row[index].height;
        if (document.row[index].caption_height > caption_height) caption_height = document.row[index].caption_height;
    }
    double height = picture_height + text_gap + caption_height;
    make_room(pending_height() + height);
    draw_pending();
    for (int index = 0; index < document.row_count; index++) {
        struct figure *figure = &document.row[index];
        draw_figure(figure, margin + index * (column_width() + column_gap), picture_height);
        for (int line = 0; line < figure->caption_count; line++) g_object_unref(figure->captions[line]);
        if (figure->picture != NULL) cairo_surface_destroy(figure->picture);
        if (figure->placeholder != NULL) g_object_unref(figure->placeholder);
    }
    document.y += height + row_gap;
    document.is_page_empty = 0;
    document.row_count = 0;
}

// MARK: Tables

static double cell_width(int column) { return table.widths[column] - 2 * cell_margin; }

static PangoLayout *make_cell(const char *text, enum style style, int column) {
    PangoLayout *layout = make_layout(text, style, cell_width(column), line_limit);
    if (table.is_number[column]) pango_layout_set_alignment(layout, PANGO_ALIGN_RIGHT);
    return layout;
}

static void draw_cells(PangoLayout *const *cells, const char *tag, enum cmedia_tone tone) {
    cairo_t *cairo = document.cairo;
    double x = margin;
    cairo_tag_begin(cairo, "TR", NULL);
    for (int column = 0; column < table.column_count; column++) {
        enum cmedia_tone cell_tone = tone;
        if (tone == CMEDIA_TONE_FACT) cell_tone = column == 0 ? CMEDIA_TONE_QUIET : CMEDIA_TONE_PLAIN;
        if (tone == CMEDIA_TONE_GOOD && column > 0) cell_tone = CMEDIA_TONE_PLAIN;
        const double *ink = inks[cell_tone];
        cairo_tag_begin(cairo, tone == CMEDIA_TONE_FACT && column == 0 ? "TH" : tag, NULL);
        cairo_set_source_rgb(cairo, ink[0], ink[1], ink[2]);
        cairo_move_to(cairo, x + cell_margin, document.y + cell_padding);
        pango_cairo_show_layout(cairo, cells[column]);
        cairo_tag_end(cairo, tone == CMEDIA_TONE_FACT && column == 0 ? "TH" : tag);
        x += table.widths[column];
    }
    cairo_tag_end(cairo, "TR");
}

// The head is at the top of each page.
static void begin_table_part(void) {
    static const double grey[3] = {0.557, 0.557, 0.576};
    cairo_tag_begin(document.cairo, "Table", NULL);
    table.is_begun = 1;
    if (!table.has_head) return;
    draw_cells(table.head, "TH", CMEDIA_TONE_QUIET);
    document.y += table.head_height;
    draw_rule(document.y, grey, 0.8);
    document.is_page_empty = 0;
}

static void end_table_part(void) {
    if (table.is_begun) cairo_tag_end(document.cairo, "Table");
    table.is_begun = 0;
}

static void end_table(void) {
    if (table.column_count == 0) return;
    if (table.is_begun) document.y += table_gap;
    end_table_part();
    for (int column = 0; column < table.column_count; column++)
        if (table.head[column] != NULL) g_object_unref(table.head[column]);
    memset(&table, 0, sizeof table);
}

static void end_block(void) {
    end_row();
    end_table();
}

const char *cmedia_pages_table(const struct cmedia_column *columns, int count) {
    end_block();
    if (count < 1 || count > table_column_limit) return "a table with too many columns";
    double sum = 0;
    for (int column = 0; column < count; column++) sum += columns[column].weight > 0 ? columns[column].weight : 1;
    table.column_count = count;
    for (int column = 0; column < count; column++) {
        table.widths[column] = (page_width - 2 * margin) * (columns[column].weight > 0 ? columns[column].weight : 1) / sum;
        table.is_number[column] = columns[column].is_number;
        table.head[column] = make_cell(columns[column].heading, name_style, column);
        if (columns[column].heading[0] != 0) table.has_head = 1;
        double height = height_of(table.head[column]) + 2 * cell_padding;
        if (height > table.head_height) table.head_height = height;
    }
    return problem();
}

const char *cmedia_pages_row(const char *const *texts, int count, enum cmedia_tone tone) {
    static const double line[3] = {0.88, 0.88, 0.89};
    if (count != table.column_count) return "a row with other columns than its table";
    PangoLayout *cells[table_column_limit];
    double height = 0;
    for (int column = 0; column < count; column++) {
        cells[column] = make_cell(texts[column], cell_style, column);
        double needed = height_of(cells[column]) + 2 * cell_padding;
        if (needed > height) height = needed;
    }
    double head = table.has_head ? table.head_height : 0;
    if (table.is_begun && document.y + height > page_end()) {
        end_table_part();
        end_page();
        begin_page();
    } else if (!table.is_begun) {
        make_room(pending_height() + head + height);
        draw_pending();
    }
    if (!table.is_begun) begin_table_part();
    draw_cells(cells, "TD", tone);
    document.y += height;
    draw_rule(document.y, line, 0.4);
    document.is_page_empty = 0;
    for (int column = 0; column < count; column++) g_object_unref(cells[column]);
    return problem();
}

const char *cmedia_pages_notice(const char *text, enum cmedia_tone tone) {
    end_block();
    double width = page_width - 2 * margin;
    PangoLayout *layout = make_layout(text, notice_style, width - 2 * notice_padding - 4, line_limit);
    double height = height_of(layout) + 2 * notice_padding;
    make_room(pending_height() + height);
    draw_pending();
    document.y += 6;
    cairo_t *cairo = document.cairo;
    cairo_tag_begin(cairo, "P", NULL);
    cairo_set_source_rgb(cairo, papers[tone][0], papers[tone][1], papers[tone][2]);
    cairo_rectangle(cairo, margin, document.y, width, height);
    cairo_fill(cairo);
    cairo_set_source_rgb(cairo, inks[tone][0], inks[tone][1], inks[tone][2]);
    cairo_rectangle(cairo, margin, document.y, 4, height);
    cairo_fill(cairo);
    cairo_move_to(cairo, margin + notice_padding + 4, document.y + notice_padding);
    pango_cairo_show_layout(cairo, layout);
    cairo_tag_end(cairo, "P");
    document.y += height + 10;
    document.is_page_empty = 0;
    g_object_unref(layout);
    return problem();
}

// MARK: The elements

static void open_document(cairo_surface_t *surface) {
    document.surface = surface;
    document.cairo = cairo_create(surface);
    document.context = pango_cairo_create_context(document.cairo);
    // Then the sizes of fonts are points.
    pango_cairo_context_set_resolution(document.context, 72);
    cairo_font_options_t *options = cairo_font_options_create();
    cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE);
    cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF);
    pango_cairo_context_set_font_options(document.context, options);
    cairo_font_options_destroy(options);
    for (int index = 0; index < style_count; index++) document.fonts[index] = pango_font_description_from_string(fonts[index]);
    begin_page();
}

static void close_document(void) {
    cairo_destroy(document.cairo);
    cairo_surface_finish(document.surface);
}

void cmedia_pages_rehearse(void) {
    // A word in each of the scripts that are used most: what is loaded with the first text of a script is loaded now.
    static const char *const words[] = {
        "Aa", "Ωω", "Жж", "שלום", "سلام", "नमस्ते", "বাংলা", "தமிழ்", "ไทยภาษา", "日本語ひらがな", "中文", "한국어", "Հայ", "ქარ", "አማ", "★☆"};
    open_document(cairo_pdf_surface_create_for_stream(NULL, NULL, page_width, page_height));
    for (size_t index = 0; index < sizeof words / sizeof *words; index++) {
        cmedia_pages_paragraph(words[index]);
        cmedia_pages_heading(2, words[index]);
    }
    draw_pending();
    end_page();
    close_document();
    cairo_surface_destroy(document.surface);
    g_object_unref(document.context);
    for (int index = 0; index < style_count; index++) pango_font_description_free(document.fonts[index]);
    memset(&document, 0, sizeof document);
}

// cairo takes the JPEG as it is; the pixels of the surface are never looked at.
static cairo_surface_t *embed(const struct cmedia_picture *picture) {
    cairo_surface_t *surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, picture->width, picture->height);
    unsigned char *jpeg = malloc(picture->jpeg_count);
    if (jpeg == NULL) {
        cairo_surface_destroy(surface);
        return NULL;
    }
    memcpy(jpeg, picture->jpeg, picture->jpeg_count);
    if (cairo_surface_set_mime_data(surface, CAIRO_MIME_TYPE_JPEG, jpeg, picture->jpeg_count, free, jpeg) == CAIRO_STATUS_SUCCESS)
        return surface;
    free(jpeg);
    cairo_surface_destroy(surface);
    return NULL;
}

// In the upper corner, beside the title.
static const char *draw_logo(const struct cmedia_picture *logo) {
    cairo_surface_t *picture = embed(logo);
    if (picture == NULL) return "no memory for a picture";
    double scale = logo_width / logo->width < logo_height / logo->height ? logo_width / logo->width : logo_height / logo->height;
    if (scale > 1) scale = 1;
    cairo_t *cairo = document.cairo;
    cairo_tag_begin(cairo, "Figure", NULL);
    cairo_save(cairo);
    cairo_translate(cairo, page_width - margin - logo->width * scale, document.y);
    cairo_scale(cairo, scale, scale);
    cairo_set_source_surface(cairo, picture, 0, 0);
    cairo_rectangle(cairo, 0, 0, logo->width, logo->height);
    cairo_fill(cairo);
    cairo_restore(cairo);
    cairo_tag_end(cairo, "Figure");
    cairo_surface_destroy(picture);
    return NULL;
}

const char *cmedia_pages_begin(const struct cmedia_document *options) {
    const char *title = options->title, *created = options->created;
    document.has_accents = options->has_accents;
    document.page_total = options->page_total;
    open_document(cairo_pdf_surface_create_for_stream(write_output, NULL, page_width, page_height));
    cairo_pdf_surface_set_metadata(document.surface, CAIRO_PDF_METADATA_TITLE, title);
    cairo_pdf_surface_set_metadata(document.surface, CAIRO_PDF_METADATA_CREATOR, "backupfs");
    cairo_pdf_surface_set_metadata(document.surface, CAIRO_PDF_METADATA_CREATE_DATE, created);
    cairo_tag_begin(document.cairo, "Document", NULL);
    double height = 0, width = page_width - 2 * margin;
    if (options->logo != NULL) {
        const char *failure = draw_logo(options->logo);
        if (failure != NULL) return failure;
        height = logo_height + 6;
        width -= logo_width + 12;
    }
    PangoLayout *layout = make_layout(title, title_style, width, heading_line_limit);
    draw_tagged(layout, "H1", margin, document.y, 0);
    if (height_of(layout) + 4 > height) height = height_of(layout) + 4;
    document.y += height;
    document.is_page_empty = 0;
    g_object_unref(layout);
    return problem();
}

const char *cmedia_pages_heading(int level, const char *text) {
    end_block();
    if (document.pending_count == pending_limit) {
        make_room(pending_height());
        draw_pending();
    }
    struct heading *heading = &document.pending[document.pending_count];
    heading->level = level;
    heading->text = strdup(text);
    if (heading->text == NULL) return "no memory";
    heading->layout = make_layout(
        text, level == 1 ? heading_style : subheading_style, page_width - 2 * margin, heading_line_limit);
    document.pending_count++;
    return problem();
}

const char *cmedia_pages_paragraph(const char *text) {
    end_block();
    // A paragraph that is longer than a page goes on with the next: line by line.
    PangoLayout *layout = make_layout(text, paragraph_style, page_width - 2 * margin, 0);
    int line_count = pango_layout_get_line_count(layout);
    double first = line_count > 0 ? height_of(layout) / line_count : 0;
    make_room(pending_height() + first);
    draw_pending();
    cairo_tag_begin(document.cairo, "P", NULL);
    PangoLayoutIter *lines = pango_layout_get_iter(layout);
    do {
        PangoRectangle extents;
        pango_layout_iter_get_line_extents(lines, NULL, &extents);
        double height = (double)extents.height / PANGO_SCALE;
        if (!document.is_page_empty && document.y + height > page_end()) {
            cairo_tag_end(document.cairo, "P");
            end_page();
            begin_page();
            cairo_tag_begin(document.cairo, "P", NULL);
        }
        double baseline = (double)(pango_layout_iter_get_baseline(lines) - extents.y) / PANGO_SCALE;
        cairo_set_source_rgb(document.cairo, 0.1, 0.1, 0.1);
        cairo_move_to(document.cairo, margin + (double)extents.x / PANGO_SCALE, document.y + baseline);
        pango_cairo_show_layout_line(document.cairo, pango_layout_iter_get_line_readonly(lines));
        document.y += height;
        document.is_page_empty = 0;
    } while (pango_layout_iter_next_line(lines));
    pango_layout_iter_free(lines);
    cairo_tag_end(document.cairo, "P");
    document.y += 8;
    g_object_unref(layout);
    return problem();
}

const char *cmedia_pages_picture(const struct cmedia_picture *picture) {
    end_table();
    double width = column_width();
    struct figure figure = {.width = width, .height = width * 2 / 3};
    if (picture->jpeg != NULL) {
        figure.picture = embed(picture);
        if (figure.picture == NULL) return "no memory for a picture";
        double longer = picture->width > picture->height ? picture->width : picture->height;
        // Small pictures are not enlarged.
        double scale = longer > width ? width / longer : 1;
        figure.width = picture->width * scale;
        figure.height = picture->height * scale;
    } else {
        figure.placeholder = make_layout(picture->placeholder, caption_style, width - 8, line_limit / 2);
        pango_layout_set_alignment(figure.placeholder, PANGO_ALIGN_CENTER);
    }
    for (int index = 0; index < picture->line_count && figure.caption_count < caption_limit; index++) {
        PangoLayout *layout = make_layout(picture->lines[index], index == 0 ? name_style : caption_style, width, line_limit);
        double height = height_of(layout);
        if (figure.caption_height + height > caption_height_limit) {
            g_object_unref(layout);
            break;
        }
        figure.captions[figure.caption_count++] = layout;
        figure.caption_height += height;
    }
    document.row[document.row_count++] = figure;
    if (document.row_count == column_count) end_row();
    return problem();
}

const char *cmedia_pages_end(int *page_count, uint64_t *byte_count) {
    end_block();
    if (document.pending_count > 0) {
        make_room(pending_height());
        draw_pending();
    }
    end_page();
    cairo_tag_end(document.cairo, "Document");
    const char *failure = problem();
    close_document();
    if (failure == NULL) {
        cairo_status_t status = cairo_surface_status(document.surface);
        if (status != CAIRO_STATUS_SUCCESS) failure = cairo_status_to_string(status);
    }
    if (failure == NULL && flush_output() != 0) failure = "the file cannot be written";
    *page_count = document.page_count;
    *byte_count = output.total;
    return failure;
}
