/** The identifiers of formats that the documents of both protocols name; a test holds them to the formats there are. */
export const FORMAT_IDS = ['jwt_vc_json-ld', 'vc+sd-jwt', 'dc+sd-jwt', 'jwt_vc_json', 'mso_mdoc'] as const

/** The formats in words, for the description of a member `format`. */
export const FORMATS_IN_WORDS = FORMAT_IDS.join(', ').replace(/, (?=[^,]*$)/, ' or ')
