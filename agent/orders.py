"""The words by which orders to a language model are known, language by language.

Patterns are written in lower case without accents; a space stands for whatever divides two words. Each table
is read by `agent.instructions`, which says what a match means.
"""

import re
import unicodedata

_GAP = r"[\W_]{1,8}"

_EN_GONE = (
    r"previous|prior|above|earlier|preceding|foregoing|former|past|existing|original|initial|system|other"
)
_EN_OF = r"about|all|any|every|each|of|the|my|our|these|those|this|that|such|and|or|following"
_EN_TOLD = (
    r"instructions?|prompts?|directions|directives?|guidelines?|guidance|rules?|commands?|orders?|"
    r"programming|"
    r"training|constraints?|restrictions?|safeguards?"
)
_EN_LEAVE = r"ignore|disregard|forget|override|overrule|bypass|neglect(?! of)|abandon|pay no attention to"

OVERRIDES = {
    "en": (
        rf"(?:{_EN_LEAVE})(?: (?:{_EN_OF}|{_EN_GONE}|your))*? (?:{_EN_GONE}|your)"
        rf"(?: (?:{_EN_OF}|{_EN_GONE}|your))*(?: (?!if|when|unless)\w+)? (?:{_EN_TOLD}|context|messages?|"
        rf"conversation)",
        rf"(?:{_EN_LEAVE}) (?:all|any)(?: (?:of|the|these|those))* (?:{_EN_TOLD})",
        rf"(?:{_EN_LEAVE})(?: (?:{_EN_OF}))* (?:{_EN_TOLD})(?: (?:given|listed|written|stated|that came))?"
        r" (?:above|before|so far|earlier|previously|given to you|you (?:were|have been|ve been|got))",
        r"(?:ignore|disregard|forget) (?:everything|anything|all)(?: (?:that|which|was|is|has|been|you|were|"
        r"said|"
        r"told|written|stated|shown|given))* (?:above|before|else|so far|earlier|previously|until now)",
        rf"(?:do not|don t|stop|cease|no longer) (?:follow|following|obey|obeying|heed)(?: (?:{_EN_OF}))*"
        rf" (?:{_EN_GONE}|your)(?: \w+)? (?:{_EN_TOLD})",
    ),
    "de": (
        r"(?:ignorier\w*|missacht\w*|vergiss|vergesst|vergessen|verwirf|verwerfen|ubergeh\w*|umgeh\w*)"
        r"(?: (?:sie|bitte|alle\w*|die|der|den|deine\w*|eure\w*|ihre\w*|samtliche\w*|jede\w*|diese\w*|nun|"
        r"jetzt))*?"
        r" (?:alle\w*|samtliche\w*|deine\w*|eure\w*|bisherige\w*|vorherige\w*|vorige\w*|obige\w*|fruhere\w*|"
        r"vorangegangene\w*|vorangehende\w*|vorstehende\w*|vorhergehende\w*|ursprungliche\w*)"
        r"(?: \w+){0,2} (?:anweisung\w*|instruktion\w*|vorgabe\w*|regeln|befehle\w*|prompts?|richtlinien|"
        r"anleitungen|systemprompts?)",
        r"(?:alle|samtliche|deine)(?: (?:deine|bisherigen?|vorherigen?|vorigen?|obigen?|fruheren?|"
        r"vorangegangenen?|"
        r"vorstehenden?))+ (?:anweisungen|instruktionen|vorgaben|regeln|befehle|prompts?)(?: \w+)? "
        r"(?:ignorieren|missachten|vergessen|verwerfen)",
        r"(?:vergiss|vergesst|ignorier\w*)(?: (?:sie|alles|was|das))+ "
        r"(?:oben|bisherige|vorherige|davor|zuvor|vorstehende)",
    ),
    "fr": (
        r"(?:ignore[zr]?|oublie[zr]?|neglige[zr]?|(?:ne )?(?:tiens|tenez|tenir)(?: pas)? compte(?: de)?|"
        r"fai(?:s|tes) abstraction)(?: (?:toutes?|tous|les|des|de|tes|vos|ces|l ensemble|bien))*?"
        r" (?:toutes?|tous|tes|vos)(?: (?:les|des|de|tes|vos|ces))*(?: \w+)? "
        r"(?:instructions?|consignes?|directives?|regles|ordres|prompts?)",
        r"(?:ignore[zr]?|oublie[zr]?|neglige[zr]?|(?:ne )?(?:tiens|tenez|tenir)(?: pas)? compte(?: de)?)"
        r"(?: (?:les|des|ces|de)) (?:instructions?|consignes?|directives?|regles|ordres|prompts?)"
        r" (?:precedente?s?|anterieure?s?|ci dessus|donnee?s|recues?|initiales?)",
        r"(?:ignore[zr]?|oublie[zr]?)(?: (?:tout|toutes?|ce|qui|est|a ete))+ "
        r"(?:precede|ecrit|dit|ci dessus|plus haut)",
    ),
    "es": (
        r"(?:ignora\w*|ignore\w*|olvida\w*|olvide\w*|descarta\w*|descarte\w*|desobedece\w*|"
        r"(?:haz|haga\w*) caso omiso (?:de|a)|no (?:sigas|hagas caso (?:de|a)))"
        r"(?: (?:de|a|por completo))*(?: (?:todas?|todos|las?|los|cualquier|estas|esas))*"
        r"(?: (?:tus|sus|tu|previas|anteriores))?(?: \w+)?"
        r" (?:instrucciones|indicaciones|ordenes|reglas|directrices|prompts?)"
        r" (?:anteriores|previas|previos|precedentes|de arriba|recibidas|iniciales)",
        r"(?:ignora\w*|ignore\w*|olvida\w*|olvide\w*|descarta\w*|descarte\w*)"
        r" (?:todas las|todas tus|todas sus|tus|sus) (?:instrucciones|indicaciones|ordenes|reglas|"
        r"directrices)",
        r"(?:ignora\w*|ignore\w*|olvida\w*|olvide\w*)(?: (?:todo|lo|que|dicho|esta))+ (?:anterior|arriba)",
    ),
    "pt": (
        r"(?:ignor[ea]\w*|esquec[ae]\w*|desconsider[ea]\w*|descart[ea]\w*|nao siga\w*)"
        r"(?: (?:de|todas?|todos|as?|os?|quaisquer|qualquer|essas|estas))*(?: (?:suas|tuas|seus|teus))?"
        r"(?: \w+)? (?:instrucoes|orientacoes|ordens|regras|comandos|diretrizes|prompts?)"
        r" (?:anteriores|previas|previos|acima|recebidas|iniciais|precedentes)",
        r"(?:ignor[ea]\w*|esquec[ae]\w*|desconsider[ea]\w*|descart[ea]\w*)"
        r" (?:todas as|todas as suas|todas as tuas|as suas|as tuas|suas|tuas)"
        r" (?:instrucoes|orientacoes|ordens|regras|diretrizes)",
        r"(?:ignor[ea]\w*|esquec[ae]\w*)(?: (?:tudo|o|que|esta|dito))+ (?:acima|anterior)",
        r"(?:ignor[ea]\w*|esquec[ae]\w*) tudo acima",
    ),
    "it": (
        r"(?:ignora\w*|ignori|dimentica\w*|dimentichi|trascura\w*|tralascia\w*|non (?:seguire|considerare))"
        r"(?: (?:di|tutte?|tutti|le|gli|i|ogni|qualsiasi|queste))*(?: (?:tue|vostre|sue))?(?: \w+)?"
        r" (?:istruzioni|indicazioni|regole|ordini|direttive|prompt)"
        r" (?:precedenti|precedente|sopra|anteriori|iniziali|ricevute)",
        r"(?:ignora\w*|ignori|dimentica\w*|dimentichi|trascura\w*)"
        r" (?:tutte le|tutte le tue|tutte le vostre|le tue|le vostre)"
        r" (?:istruzioni|indicazioni|regole|direttive)",
        r"(?:ignora\w*|ignori|dimentica\w*)(?: (?:tutto|quanto|cio|che|quello|e|scritto))+ (?:sopra|precede)",
    ),
    "nl": (
        r"(?:negeer|vergeet)(?: (?:al|alle|de|deze|je|jouw|uw))*?"
        r" (?:alle|je|jouw|uw|eerdere|vorige|voorgaande|bovenstaande)(?: \w+)?"
        r" (?:instructies|aanwijzingen|opdrachten|regels|prompts?)",
    ),
    "ru": (
        r"(?:проигнорируи\w*|игнорируи\w*|забудь\w*|отмени\w*|отбрось\w*|не (?:обращаи\w* внимания на|"
        r"следуи\w*))"
        r"(?: (?:все|всем|всех|любые|эти|свои|своих|твои|ваши|на))*?"
        r" (?:все|всем|любые|свои|твои|ваши|предыдущие|предыдущим|прежние|прошлые|вышеуказанные|"
        r"вышеперечисленные|предшествующие|ранние|исходные)(?: \w+){0,2}"
        r" (?:инструкци\w+|указани\w+|команд\w+|правила|подсказки|промпт\w*|распоряжени\w+)",
        r"(?:проигнорируи\w*|игнорируи\w*|забудь\w*)(?: (?:все|обо|всем|что|было|написано|сказано))*"
        r" (?:вышесказанно\w+|вышеуказанно\w+|вышеизложенно\w+|выше|ранее)",
    ),
    "ar": (
        r"(?:تجاهل\w*|تجاوز\w*|انس|انسي|اهمل\w*|لا تتبع)(?: (?:كل|كافة|كافه|جميع|عن|هذه))*"
        r" (?:التعليمات|تعليماتك|الاوامر|اوامرك|القواعد|الارشادات|التوجيهات|توجيهاتك)"
        r"(?: (?:السابقة|السابقه|اعلاه|المذكورة|الاصلية|السالفة))",
        r"(?:تجاهل|تجاهلي|تجاهلوا|انس|اهمل) (?:كل |جميع |كافة )?(?:التعليمات|تعليماتك|الاوامر|اوامرك|"
        r"توجيهاتك)",
    ),
}

_ZH_LEAVE = (
    r"(?<!不要)(?<!请勿)(?<!請勿)(?<!切勿)(?<!不得)(?<!不可)(?<!如果)(?<!若)"
    r"(?:忽略|忽視|忽视|无视|無視|忘记|忘記|忘掉|抛开|不要理会|不要理會)(?:掉)?"
)
OVERRIDES_UNSPACED = (
    _ZH_LEAVE
    + r"(?:你|您|所有|全部|一切|任何|之前|以前|先前|此前|上面|上述|前面|以上|原有|系统|系統|的|这些|那些|"
    r"收到|给出|給出)+(?:指令|指示|提示词|提示|规则|規則|命令|指引|设定|設定|上下文)(?!可能|会|會|将|將)",
    _ZH_LEAVE + r"(?:以上|上面|上述|之前|前面)(?:的)?(?:所有|全部|一切)?(?:内容|內容|文字|信息|对话|文本)",
    r"(?:以前|これまで|今まで|前|先|上記|上|すべて|全て|全|あなた|元|既存|過去)(?:の|に与えられた|に受けた|までの)*"
    r"(?:すべて|全て|あらゆる)?の?(?:システム)?"
    r"(?:指示|命令|プロンプト|ルール|規則|指令|インストラクション|内容|文章)"
    r"(?:を|は)?(?:すべて|全て|一切|完全に)?(?:無視|忘れ|破棄)(?!すると|した場合|しない|せず|され)",
    r"(?:이전|위|앞|기존|모든|지금까지|당신)(?:의|에)?(?:모든)?(?:주어진)?(?:지시|명령|프롬프트|규칙|지침|내용)"
    r"\w{0,4}?(?:모두|전부)?(?:무시|잊)(?!하면|하지|할경우)",
)

_MODEL = (
    r"(?:a ?i|artificial intelligence|large language models?|language models?|llms?|vlms?|chat ?bots?|"
    r"chat ?gpt|gpt(?: ?\d\w*)?)"
)
_NAME = r"(?:claude|gemini|copilot)"
_ROLE = (
    r"(?:(?: (?:based|powered|language))*"
    r" (?:assistants?|agents?|models?|systems?|readers?|reviewers?|bots?|tools?|graders?))?"
)
_WORK = (
    r"(?:reading|processing|summari[sz]ing|parsing|analy[sz]ing|reviewing|evaluating|grading|screening|"
    r"interpreting|seeing|answering)"
)
_THIS = r"(?:this|these|the|questions|on|from|about|it)"
_FILE = r"(?:document|page|text|file|pdf|paper|report|resume|cv)"

_CALLED = (
    r"(?:(?:hidden|secret|special|urgent|important|system) )?"
    r"(?:note|notice|message|attention|dear|hello|hey|hi|instructions?|important|for|to|warning|command)"
    r"(?: (?:to|for|all|any|the|every|each|important|special))*"
)
_READS = rf"(?:(?: (?:that|which|who|is|are|currently))* {_WORK}(?: {_THIS})?(?: {_FILE})?)?"
NAMED = (rf"{_CALLED} {_MODEL}{_ROLE}{_READS}(?=[\W_]{{0,2}}[:,!–—])",)
"""Who is addressed, where a sentence begins: enough by itself."""
CALLED = (rf"{_CALLED} {_NAME}{_ROLE}{_READS}(?=[\W_]{{0,2}}[:,!–—])",)
"""The same by names that people and things have too: an order nearby is needed."""

ADDRESSED = (
    rf"(?:if you are|if you re|since you are|because you are|as you are) (?:an?|the) {_MODEL}\b",
    rf"as an? {_MODEL}{_ROLE} you (?:must|should|shall|will|have to|are to|are required)",
    r"(?:whichever|whatever|any) (?:a ?i|model|assistant|llm|chat ?bot) (?:that )?(?:reads?|processes|"
    r"sees|parses|"
    r"is reading)",
    rf"{_MODEL}{_ROLE}(?: (?:that|which|who|is|are|currently))* {_WORK} {_THIS}"
    rf" {_FILE}"
    r"[\W_]{1,8}(?:you )?(?:must|should|shall|has to|have to|is to|are to|please|will)",
    r"(?:correct|only|right|final|true|proper|expected|best) (?:answer|reply|response) to"
    r" (?:any|every|all|whatever|whichever)(?: (?:the|of|these|such|user))* questions?",
    r"(?:answer|reply to|respond to) (?:any|every|all)(?: (?:the|of|these|such|user|"
    r"users))* (?:questions?|queries)"
    r"(?: (?:about|on|from|in|asked|here|concerning) \w+(?: \w+)?)? (?:with|by saying|by)"
    r"(?! (?:a|an|the|your|one|black|blue|pen|marking|ticking|circling|checking|writing|filling|"
    r"choosing|selecting)\b)",
    r"(?:ja|jede|alle) (?:ki|kunstliche intelligenz|sprachmodelle?)(?= ?[:,!])",
    r"(?:hinweis|achtung|nachricht|anweisung|note|nota|mensaje|messaggio|mensagem|aviso)"
    r" (?:an|fur|a|al|para|per|pour|aux?|l|la|le|las|los|o|ai)(?: (?:die|alle|l|la|le|las|los|o))*"
    r" (?:ki|ki modelle?|sprachmodelle?|ia|modeles? de langage|modelos? de lenguaje|modelos? de linguagem|"
    r"modelli linguistici)\b(?= ?[:,!])",
)
"""The same, anywhere in a sentence."""

CONTEXTS = (
    r"(?:you are|you re|act as|pretend to be|behave as)(?: now)? (?:an? )?(?:\w+ ){0,3}?"
    rf"(?:assistant|{_MODEL}|model|chat ?bot)\b",
    r"(?:system|developer) (?:prompt|message|override|instruction)s?\b",
    r"(?:new|updated|real|actual|secret|hidden) (?:instructions?|task|objective|goal|directive)s? ?(?::|"
    r"is|are)",
    r"(?:do not|don t|never|without) (?:tell|telling|inform|informing|reveal|revealing|mention|mentioning|"
    r"disclose|disclosing|alert|alerting|notify|notifying|let)(?: (?:it|this|that|these|anything|"
    r"to))* the (?:user|human)",
    r"(?:ignore|disregard|forget|pay no attention to)"
    r"(?: (?:the|all|any|every|of|this|that|user|users|s|original|actual))* "
    r"(?:questions?|query|request|user)\b",
    r"(?:this|these|it|which) (?:overrides?|supersedes?|replaces?)(?: (?:all|any|other|previous|prior|"
    r"the|your))* "
    r"(?:instructions|prompts?|rules|guidelines)",
    r"forget (?:everything|all|anything|what)(?: that)? you (?:know|were told|have been told|ve been told|"
    r"learned|were taught)",
    r"(?:ignore|disregard|forget)(?: (?:what|all|everything|of|the|is|stands|it says))* (?:above|the "
    r"(?:user|question|"
    r"reader)(?: (?:asked|asks|said|says|wants))?)",
    rf"(?:{_EN_GONE}|your)(?: (?:{_EN_GONE}|your))* (?:{_EN_TOLD})(?: above)? (?:are|is|have been|has "
    rf"been|were)"
    r"(?: (?:now|hereby|all))? (?:void|cancel\w*|revoked|invalid|no longer|superseded|overridden|"
    r"obsolete|replaced)",
    rf"(?:{_EN_TOLD}) above (?:are|is|have been|were)(?: (?:now|hereby|all))? (?:void|cancel\w*|"
    rf"revoked|invalid|"
    r"no longer|superseded|overridden|obsolete|replaced)",
    r"(?:no matter|regardless of|whatever)(?: (?:what|which|the|of|you are|you re|is|any|being|user))* "
    r"(?:asked|questions?|query|queries|prompt|instructions)",
    r"(?:to|for) (?:all|any|every|each)(?: (?:of|the|user|users|other|such))* questions?",
    r"and nothing else",
    r"(?:ignore|disregard|forget)(?: (?:the|this|all|rest|of|whole|entire|remaining|everything|else|in|on))*"
    r" (?:document|page|text|report|file|pdf|passage|contents?)",
    r"(?:stop|quit) (?:following|obeying) (?:the|your|any|all|previous|prior)(?: (?:the|your|previous|prior|"
    r"above|earlier))* (?:instructions?|prompts?|rules)",
    r"(?:instead of|rather than) (?:answering|responding|the (?:real|true|correct|actual|right) answer)",
    r"from now on",
    r"(?:ignore|disregard|forget) (?:what|anything|everything|all)(?: that)? (?:i|we|you|they)(?: \w+)? "
    r"(?:said|told|wrote|asked|know)",
    r"when (?:summari[sz]ing|processing|analy[sz]ing|reviewing|reading|asked about|answering "
    r"questions about) (?:this|"
    r"the) (?:document|page|file|text|pdf|paper|report)",
    r"the user (?:wants|asks|asked|expects|prefers|needs) you to",
    r"(?:respond|reply|answer) only with|only (?:respond|reply|answer) with|always (?:respond|reply|answer)",
    r"(?:do not|don t|never) (?:answer|respond to) (?:the|this|any|that)(?: (?:actual|real|user|users|"
    r"s))* questions?",
)
"""What speaks to a model, but stands in papers about them too: an order nearby is needed."""

TEMPLATES = re.compile(
    r"<\s{0,4}\|\s{0,4}/?\s{0,4}(?:im_start|im_end|system|user|assistant|endoftext|eot_id|start_header_id|end_header_id|"
    r"begin_of_text|end_of_text|channel|message)\s{0,4}\|\s{0,4}>(?:\s{0,4}(?:system|user|assistant)\b)?|"
    r"\[\s{0,4}/?\s{0,4}INST\s{0,4}\]|<<\s{0,4}/?\s{0,4}SYS\s{0,4}>>|"
    r"<\s{0,4}/?\s{0,4}(?:start_of_turn|end_of_turn)\s{0,4}>(?:\s{0,4}(?:user|model)\b)?|<\s{0,4}/?\s{0,4}(?:system|assistant|"
    r"instructions?|prompt)\s{0,4}>|(?<!#)#{2,8}\s{0,4}(?:instructions?|system|response|assistant)\b\s{0,4}:?|"
    r"(?:^|\n)\s{0,4}(?:system|assistant|human|ai)\s{0,4}:",
    re.IGNORECASE,
)
"""Tokens and headings of chat templates: like `CONTEXTS`."""

_LEAD = (
    r"(?:please|kindly|now|just|only|simply|always|instead|then|and|so|also|rather|you must|you should|"
    r"you will|"
    r"you have to|you are to|you shall|must|should|bitte|stattdessen|nur|immer|und|por favor|"
    r"en su lugar|solo|"
    r"siempre|y|et|toujours|seulement|invece|sempre|solo|e|sempre|apenas|en|и|просто|всегда|вместо этого)"
)
_SAY = (
    r"(?:answer|reply|respond|say|state|output|return|print|write|report|claim|conclude|tell|give|recommend|"
    r"repeat|insist|assert|"
    r"antworte\w*|sage?|schreibe?|gib|geben sie|nenne\w*|behaupte\w*|"
    r"repond\w*|dis|dites|ecris|ecrivez|affiche\w*|donne\w*|"
    r"responde\w*|responda\w*|contesta\w*|conteste\w*|di|diga\w*|escribe\w*|escriba\w*|"
    r"diz|dizer|escreva\w*|rispondi\w*|risponda|rispondere|scrivi\w*|dica|"
    r"antwoord\w*|zeg|ответь\w*|отвечаи\w*|скажи\w*|напиши\w*|выведи\w*|اجب|اجيبي|قل|اكتب|رد)"
)
SAY = rf"(?:{_LEAD} ){{0,4}}{_SAY}"
"""The beginning of a sentence that tells what to say."""

FREE = r"(?: [^\W\d_]{1,20}){0,6}?"
"""Words between the order to say and what is to be said."""

FILLER = (
    r"(?: (?:the|this|that|every|all|any|each|to|questions?|user|users|him|them|only|just|simply|"
    r"exactly|always|with|"
    r"by|saying|as|your|answer|reply|response|word|words|number|value|string|text|following|is|mit|nur|"
    r"auf|die|frage|"
    r"alle|fragen|immer|par|avec|que|seulement|toujours|a|la|con|el|numero|solo|sempre|com|o|que|di|che|"
    r"числом|"
    r"только|словом|всегда|что|في|ب|ان|فقط))*"
)
NUMBERED = r"(?! (?:(?:the|all|only) )?(?:questions?|parts?|sections?|items?|fragen?|preguntas?) \d)"
"""What forms tell to answer: a number follows, but as the name of a question."""
VALUE = r"[\W_]{0,3}(?:[\"'“”‘’«»„`]\W{0,2}\w|\d)"
"""What is to be said: a number or something quoted."""

ANSWER_IS = (
    r"(?:the|die|la|a|o|il|правильныи)? ?(?:(?:correct|only|right|final|true|real|actual|proper|"
    r"richtige|einzige|"
    r"bonne|seule|correcta|unica|corretta|resposta|risposta|верныи|единственныи) )*"
    r"(?:answer|antwort|reponse|respuesta|resposta|risposta|ответ|الجواب|الاجابة)"
    r"(?: (?:to|auf|a|alla|на) (?:\w+ ){1,4}?)? ?(?:is|must be|should be|lautet|ist|est|es|e|это|هو|هي|[:=])"
    r"(?! (?:worth|given|rounded|written|marked|scored|counted|recorded|correct|based|stated|found)\b)"
)
SAY_UNSPACED = (
    r"(?:回答|回复|回覆|输出|輸出|答复|答案[是为為])|"
    r"(?:と|とだけ)(?:答え|回答|出力|返答|返信)|(?:答え|回答|正解)は|"
    r"(?:라고|으로|로)(?:만)?(?:답|대답|응답|출력)|답은"
)


SPLIT = (
    r"(?:ignore|disregard|forget)(?:all|any|every|of|the|your|these|those|and|previous|prior|above|earlier|"
    r"preceding)*(?:previous|prior|above|earlier|preceding|your|all)"
    r"(?:instructions?|prompts?|directives?|guidelines|rules|commands)"
)
"""An order whose words are torn apart, glued together or spaced out letter by letter."""
SPLIT_WORDS = frozenset(
    "ignore disregard forget all any every of the your these those and previous prior above earlier "
    "preceding "
    "instruction instructions prompt prompts directive directives guidelines rules commands".split()
)

ABOUT = (
    r"prompt(?!ly)\w*|inject\w*|jailbreak\w*|adversarial\w*|instruct\w*|disregard\w*|ignor\w*|overrid\w*|"
    r"chat ?bots?|llms?|language models?|assistants?|hidden|invisible|white text|system(?= prompt| message)|"
    r"injek\w*|inyec\w*|iniez\w*|injec\w*|instruk\w*|instruc\w*|instruz\w*|anweisung\w*|consigne\w*|"
    r"versteckt\w*|"
    r"cache[es]*|ocult\w*|nascost\w*|инструкц\w*|инъекци\w*|скрыт\w*|промпт\w*|注入|指令|指示|提示|プロンプト|隠"
)
"""What a question is about that asks for such words themselves."""
CORE = re.compile(
    r"promp|inje|jailb|adver|inst|inyec|iniez|anwei|consi|инстр|инъек|пром|注入|指令|指示|提示|プロンプト"
)
"""One of these words at least is in it."""


def bare(text: str) -> str:
    """Compatibility forms, accents and what has no width made plain, letters lower-cased."""
    if text.isascii():
        return text.lower()
    plain = unicodedata.normalize("NFKC", text).casefold()
    return "".join(map(_bare_character, plain))


def _bare_character(character: str) -> str:
    if character.isascii():
        return character
    if unicodedata.category(character) in ("Cf", "Mn"):
        return ""
    if ord(character) < 0x700 or 0x1E00 <= ord(character) < 0x2000:  # not kana, whose marks are no accents
        parted = unicodedata.normalize("NFKD", character)
        return "".join(c for c in parted if unicodedata.category(c) != "Mn")
    return character


def spaced(pattern: str) -> re.Pattern[str]:
    """A pattern whose spaces stand for what divides words, for text made bare; what repeats is bounded."""
    bounded = pattern.replace(")*", "){0,12}").replace(")+", "){1,12}")
    bounded = bounded.replace(r"\w*", r"[^\W_]*").replace(r"\w+", r"[^\W_]+")  # `_` divides words
    return re.compile(r"(?<!\w)(?:" + bounded.replace(" ?", r"[\W_]{0,3}").replace(" ", _GAP) + r")(?!\w)")
