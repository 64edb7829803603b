(class_definition name: (identifier) @name body: (_) @body) @definition.class

(function_definition name: (identifier) @name body: (_) @body) @definition.function

(decorated_definition) @wrapper

(module (expression_statement (assignment left: (identifier) @name) @definition.constant))
(module (if_statement (block (expression_statement (assignment left: (identifier) @name) @definition.constant))))
(module (try_statement (block (expression_statement (assignment left: (identifier) @name) @definition.constant))))
(module (expression_statement (assignment left: [
  (pattern_list (identifier) @name)
  (tuple_pattern (identifier) @name)
]) @definition.constant))
(module (expression_statement (assignment right: (assignment left: (identifier) @name)) @definition.constant))
(module (type_alias_statement left: (type (identifier) @name)) @definition.constant)

(class_definition body: (block (expression_statement (assignment left: [
  (identifier) @name
  (pattern_list (identifier) @name)
]) @definition.field)))
((assignment left: (attribute object: (identifier) @self attribute: (identifier) @name)) @definition.attribute
  (#eq? @self "self"))

(call function: (identifier) @name) @reference.call
(call function: (attribute attribute: (identifier) @name)) @reference.call
(call function: (attribute
  object: [(identifier) @receiver (attribute attribute: (identifier) @receiver)]
  attribute: (identifier) @name)) @reference.call
