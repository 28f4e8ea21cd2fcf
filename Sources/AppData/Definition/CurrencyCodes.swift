/// The currencies that a record may name: the active codes of ISO 4217 (2024), and the symbols that apps write instead.
public enum CurrencyCodes {
    private static let codes = """
        AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BHD BIF BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD CDF \
        CHE CHF CHW CLF CLP CNY COP COU CRC CUC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD \
        GNF GTQ GYD HKD HNL HTG HUF IDR ILS INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR \
        LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK \
        PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND \
        TOP TRY TTD TWD TZS UAH UGX USD USN UYI UYU UYW UZS VED VES VND VUV WST XAF XAG XAU XBA XBB XBC XBD XCD XCG XDR \
        XOF XPD XPF XPT XSU XTS XUA YER ZAR ZMW ZWG ZWL
        """

    private static let symbols = ["$", "₸", "€", "Br", "₴", "₽", "₺", "Dh", "SR", "£", "¥", "₹", "CN¥"]

    static let all = ByteStringSet(codes.split(separator: " ").map(String.init) + symbols)

    /// The codes in their order, followed by the symbols.
    public static var members: [String] { all.members }

    /// Case-sensitive: `usd` is not a code.
    public static func contains(_ text: String) -> Bool { all.contains(text) }
}
