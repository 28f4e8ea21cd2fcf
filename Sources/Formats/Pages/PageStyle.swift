/// The look of the pages in the mounted tree: dark or light as the reader's system, and narrow enough for a telephone.
public enum PageStyle {
    /// For the `style` of a page, without `</style>`.
    public static let css = """

        :root { color-scheme: light dark; --page: #fff; --text: #1a1a1a; --quiet: #595959; --box: #ececec; --link: #0b57d0;
          --good: #146c2e; --bad: #b3261e }
        @media (prefers-color-scheme: dark) {
          :root { --page: #161616; --text: #ececec; --quiet: #a8a8a8; --box: #2a2a2a; --link: #8ab4f8; --good: #7fd894;
            --bad: #f2a09a }
        }
        body { margin: 0 auto; padding: 1.5rem; max-width: 60rem; font: 1rem/1.5 system-ui, sans-serif;
          background: var(--page); color: var(--text); overflow-wrap: anywhere }
        h1 { margin: 0 }
        h2 { margin: 2rem 0 .5rem; font-size: 1.25rem }
        header p { margin: .25rem 0 0; color: var(--quiet) }
        a { color: var(--link) }
        ul { margin: 0; padding-left: 1.25rem }
        .notice { margin: 1rem 0 0; padding: .75rem 1rem; border-radius: .5rem; background: var(--box) }
        .good { border-left: .375rem solid var(--good) }
        .bad { border-left: .375rem solid var(--bad) }
        .text { margin: 1rem 0 0; white-space: pre-wrap }
        .wide { overflow-x: auto }
        table { border-collapse: collapse; width: 100% }
        th, td { padding: .375rem .75rem .375rem 0; text-align: left; vertical-align: top; white-space: nowrap;
          border-bottom: 1px solid var(--box) }
        .number { text-align: right; font-variant-numeric: tabular-nums }
        .pictures { list-style: none; margin: 0; padding: 0; display: grid; gap: .75rem;
          grid-template-columns: repeat(auto-fill, minmax(9rem, 1fr)) }
        .pictures a { display: block }
        .pictures img { display: block; width: 100%; aspect-ratio: 1; object-fit: cover; background: var(--box);
          border-radius: .375rem }
        .plot { display: block; width: 100%; height: auto }
        .plot .bar { fill: var(--link) }
        .plot line { stroke: var(--quiet) }
        .plot text { fill: var(--quiet); font-size: 12px }

        """
}
