/** Short texts of business in twenty languages, two of each: what invoices, letters and terms are made of. */

export interface Sample {
  readonly language: string
  readonly text: string
}

const TEXTS: Readonly<Record<string, readonly [string, string]>> = {
  en: [
    'Please pay $1,234.50 (net 30 days) by 2026-12-24 to account no. 12-3456/78; see https://example.com/pay?id=4711&lang=en for details.',
    'The “Premium” plan costs €9.99/month—cancel any time! Questions? E-mail support@example.com or call +1 555-0100.',
  ],
  de: [
    'Die Umsatzsteuer-Identifikationsnummer (USt-IdNr.) lautet DE 123456789; der Rechnungsbetrag von 1.234,50 € ist sofort fällig.',
    'Donaudampfschifffahrtsgesellschaft mbH, z. Hd. Frau Dr. Groß, Straße des 17. Juni 135, 10623 Berlin – „per Einschreiben“.',
  ],
  fr: [
    'Votre facture n° 2026/114 s’élève à 1 234,50 € ; merci de la régler sous 30 jours. Une question ? Appelez-nous !',
    'Elle répondit : « Nous livrons jusqu’à 18 h 30, sauf le week-end », puis raccrocha aussitôt.',
  ],
  es: [
    '¿Dudas? ¡Llámenos! El importe total (21 % de IVA incluido) asciende a 1.234,50 € y vence el 31/12/2026.',
    'Calle de Alcalá, 42, 3.º izda., 28014 Madrid; teléfono +34 910 000 000, de lunes a viernes.',
  ],
  it: [
    'La fattura n. 114/2026 dell’11 novembre è di 1.234,50 euro: si prega di pagarla entro trenta giorni dall’emissione.',
    'Spett.le Società “Esempio S.r.l.”, via Roma 1/A, 20121 Milano (MI) – partita IVA IT01234567890.',
  ],
  nl: [
    'Wij verzoeken u het bedrag van € 1.234,50 binnen 14 dagen over te maken op NL91 ABNA 0417 1643 00.',
    'De arbeidsongeschiktheidsverzekering gaat in op 1-1-2027; zie de polisvoorwaarden (artikel 3.2, lid b).',
  ],
  pl: [
    'Prosimy o zapłatę 1 234,50 zł do 31.12.2026 r. na konto nr 12 3456 7890; dziękujemy!',
    'Spółka z o.o. „Przykład”, ul. Żółkiewskiego 7 m. 12, 00-950 Warszawa – NIP 123-456-78-90.',
  ],
  pt: [
    'O valor total é de R$ 1.234,50 (pagamento à vista); dúvidas? Escreva-nos: contato@example.com.',
    'Av. Paulista, 1.000 – 10.º andar, 01310-100 São Paulo/SP, segunda-feira das 9h às 18h.',
  ],
  sv: [
    'Fakturabeloppet är 1 234:50 kr och ska betalas senast 2026-12-31 till bankgiro 123-4567.',
    'Ansvarsförsäkringen gäller fr.o.m. den 1 januari; läs villkoren på www.example.se/villkor.',
  ],
  ru: [
    'Сумма счёта № 114 — 1 234,50 ₽; просим оплатить до 31.12.2026 г. по реквизитам ООО «Пример».',
    'Кто-нибудь ответит: «Да, конечно!» — и отправит договор по адресу: ул. Ленина, д. 5/2, кв. 12.',
  ],
  el: [
    'Το συνολικό ποσό είναι 1.234,50 € (με ΦΠΑ 24 %)· παρακαλούμε εξοφλήστε το έως τις 31/12/2026.',
    'Οδός Ερμού 25, 105 63 Αθήνα; Ρώτησε: «Πότε θα παραδοθεί η παραγγελία;»',
  ],
  tr: [
    'Toplam tutar 1.234,50 ₺ (KDV dâhil) olup son ödeme tarihi 31.12.2026’dır; teşekkür ederiz!',
    'İstiklal Cad. No: 12/3, 34430 Beyoğlu/İstanbul – “Örnek A.Ş.”nin yeni adresidir.',
  ],
  he: [
    'הסכום לתשלום הוא 1,234.50 ש"ח (כולל מע"מ), עד 31/12/2026; לפרטים: support@example.com.',
    'בית-הדפוס "דוגמה" בע"מ, רח׳ הרצל 15, תל־אביב-יפו – טלפון 03-555-0100.',
  ],
  ar: [
    'المبلغ الإجمالي هو 1,234.50 درهم (شامل الضريبة)، ويُستحق في 31/12/2026؛ شكرًا لكم!',
    'هل لديكم سؤال؟ اكتبوا إلى support@example.com أو اتصلوا على الرقم ‎+971 4 555 0100.',
  ],
  ja: [
    '請求書番号「2026-114」の合計は1,234円（税込）です。12月31日までにお支払いください。',
    'ショッピングセンター・ドット株式会社様、ちょっとお待ちください…「はい、わかりました！」とのことです。',
  ],
  zh: [
    '发票号码：2026-114，总金额为人民币1,234.50元（含税），请于12月31日前付款。',
    '客户说：“合同在哪里？”我们回答：“请见《服务条款》第3.2条——谢谢！”',
  ],
  ko: [
    '청구서 번호 2026-114의 합계는 1,234원(부가세 포함)이며, 12월 31일까지 납부해 주십시오.',
    '“주식회사 보기”는 서울특별시 중구 세종대로 110에 있습니다. 문의: support@example.com',
  ],
  th: [
    'ใบแจ้งหนี้เลขที่ 2026/114 จำนวนเงินรวม 1,234.50 บาท (รวมภาษีมูลค่าเพิ่ม) กรุณาชำระภายในวันที่ 31 ธันวาคม',
    'บริษัทตัวอย่างจำกัดขอขอบคุณลูกค้าทุกท่านที่ใช้บริการของเราเสมอมา',
  ],
  hi: [
    'कुल राशि ₹1,234.50 (कर सहित) है; कृपया 31/12/2026 तक भुगतान करें। धन्यवाद!',
    'ग्राहक ने पूछा: “अनुबंध कहाँ है?” उत्तर – कृपया पृष्ठ 3-4 देखें।',
  ],
  km: [
    'វិក្កយបត្រលេខ 2026/114 មានទឹកប្រាក់សរុប 1,234.50 រៀល សូមបង់មុនថ្ងៃទី 31 ខែធ្នូ។',
    'ក្រុមហ៊ុនយើងសូមអរគុណចំពោះការជឿទុកចិត្តរបស់អតិថិជនទាំងអស់',
  ],
}

export const CORPUS: readonly Sample[] = Object.entries(TEXTS).flatMap(([language, texts]) =>
  texts.map((text) => ({ language, text })),
)
